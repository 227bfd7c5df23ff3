"""What a ranking was computed from. A search reads its order; an explanation reads all of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from registry.search.bm25 import Floats, Ints
from registry.search.form import Form
from registry.search.need import Need, Reading
from registry.search.postings import Gains
from registry.search.relevance import FROM_HISTORY, spread
from registry.search.weights import Weights


class Scored(NamedTuple):
    """How one text of a need scores the candidates, each part by candidate.

    `most` is the best gain of its words, which the parts are shares of.
    """

    text: Floats
    coverage: Floats
    clause: Floats
    passage: Floats
    limitations: Floats
    covered: Floats
    most: float

    @property
    def total(self) -> Floats:
        """Return the sum of the parts."""
        return self.text + self.coverage + self.clause + self.passage - self.limitations


class Earlier(NamedTuple):
    """What the messages before add, and how much the message leans on them, in 0–1."""

    reliance: float
    added: Floats


class Text(NamedTuple):
    """One text of a need as it was read: its words that no tool holds are read as `corrected`."""

    reading: Reading
    corrected: Mapping[str, tuple[str, ...]]
    gains: Gains
    form: Form


@dataclass(frozen=True, kw_only=True)
class Look:
    """The texts of a need, the last of them the earlier messages, and the candidates' scores.

    `scored` has a row for each text but the last. `meant` is the likeness in meaning, of which
    `share` counts, NaN where a tool has no vector. `words` is the score by words alone, `score`
    what orders: `order` has the places of the first ones. `fits` is the relevance that each text
    gives them, `near` the one by meaning.
    """

    need: Need
    weights: Weights
    texts: Sequence[Text]
    candidates: Ints
    scored: Sequence[Scored]
    earlier: Earlier
    meant: NDArray[np.float32] | None
    share: float
    words: Floats
    lifts: Floats
    score: Floats
    order: Sequence[int]
    fits: Sequence[float]
    near: float

    @property
    def by_text(self) -> list[float]:
        """Return the relevance that each text gives; earlier ones where the message goes on."""
        *own, earlier = self.fits
        return [*own, FROM_HISTORY * earlier if self.texts[0].form.follows else 0.0]

    @property
    def relevance(self) -> float:
        """Return the relevance of the best."""
        return max(*self.by_text, self.near)

    @property
    def shares(self) -> Floats:
        """Return the share that each of the first ones, in order, has of that relevance."""
        return spread(1.0, self.score[list(self.order)])
