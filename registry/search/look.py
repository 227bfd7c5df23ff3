"""What a ranking was computed from. A search reads its order; an explanation reads all of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from registry.search.bm25 import Floats, Ints
from registry.search.form import Form
from registry.search.gains import Gains
from registry.search.need import Need, Reading
from registry.search.relevance import FROM_HISTORY, LOOKED_AT, spread
from registry.search.scored import Scored
from registry.search.weights import Weights


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
    """The texts of a need and the candidates' scores.

    `scored` has one of each of `texts`. `before` are the earlier messages, where the message may
    lean on them, `before_scored` how they score, `earlier` what they add. `meant` is the likeness
    in meaning, of which `share` counts, NaN where a tool has no vector. `words` is the score by
    words alone, `score` what orders: `order` has the places of the first ones. `fits` is the
    relevance that each text gives them, that of the earlier messages last, where they count.
    """

    need: Need
    weights: Weights
    texts: Sequence[Text]
    candidates: Ints
    scored: Sequence[Scored]
    before: Text | None
    before_scored: Scored | None
    earlier: Earlier
    meant: NDArray[np.float32] | None
    share: float
    words: Floats
    lifts: Floats
    score: Floats
    order: Sequence[int]
    fits: Sequence[float]

    @property
    def by_text(self) -> list[float]:
        """Return the relevance that each text gives; earlier ones where the message goes on."""
        own = self.fits[: len(self.texts)]
        return [*own, *(FROM_HISTORY * fit for fit in self.fits[len(self.texts) :])]

    @property
    def relevance(self) -> float:
        """Return the relevance of the best."""
        return max(self.by_text)

    @property
    def first(self) -> Ints:
        """Return the places of the best, among which the most relevant speaks for the message."""
        return np.array(self.order[:LOOKED_AT], np.int32)

    @property
    def near(self) -> NDArray[np.float32] | None:
        """Return the likeness in meaning of these."""
        return None if self.meant is None else self.meant[self.first]

    @property
    def shares(self) -> Floats:
        """Return the share that each of the first ones, in order, has of that relevance."""
        return spread(1.0, self.score[list(self.order)])
