"""Choose few of many by their scores."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from registry.search.bm25 import Floats, Ints
from registry.search.gains import Gains
from registry.search.postings import Postings

CANDIDATES = 300
"""How many of the best by BM25 are looked at closely, for each text of a need."""

CANDIDATES_BY_EARLIER = 50
"""How many more the messages before may bring in; they add a tenth, so a few are enough."""

Mask = NDArray[np.bool_]


_STRIDE = 32
"""One of so many scores is looked at to guess which are among the best."""


def candidates_of(
    postings: Postings, texts: Sequence[Gains], earlier: Gains | None, mask: Mask | None
) -> Ints:
    """Return the slots that are the best by BM25 for any of the texts, in their order."""
    allowed = postings.alive if mask is None else postings.alive & mask
    chosen = [best(gains.scores, allowed) for gains in texts if gains.terms]
    if earlier is not None and earlier.terms:
        chosen.append(best(earlier.scores, allowed, CANDIDATES_BY_EARLIER))
    slots: Ints = np.sort(np.concatenate([np.zeros(0, np.int32), *chosen]))
    if len(chosen) > 1:
        slots = slots[np.flatnonzero(np.diff(slots, append=len(allowed)))]
    return slots


def best(scores: Floats, allowed: Mask, most: int = CANDIDATES) -> Ints:
    """Return the places of the highest positive scores that are allowed, in no order."""
    guess = _guess(scores, allowed, most)
    found = np.flatnonzero((scores > guess) & allowed)
    if guess > 0 and len(found) < most:
        found = np.flatnonzero((scores > 0) & allowed)
    if len(found) > most:
        found = found[np.argpartition(scores[found], -most)[-most:]]
    return np.asarray(found, np.int32)


def _guess(scores: Floats, allowed: Mask, most: int) -> float:
    """Return a score that probably more than `most` others exceed, but not many more."""
    wanted = 2 * most // _STRIDE
    sample = scores[::_STRIDE] * allowed[::_STRIDE]
    if len(sample) <= 2 * wanted:
        return 0.0
    return float(np.partition(sample, -wanted)[-wanted])


def first_of(scores: Floats, name_of: Callable[[int], str], limit: int) -> list[int]:
    """Return the places of the highest positive scores in order, equals by their names."""
    least = 0.0
    if 0 < limit < len(scores):
        # with all equals of the last one, which names tell apart
        least = float(np.partition(scores, -limit)[-limit])
    is_high = scores >= least if least > 0 else scores > 0
    places = is_high.nonzero()[0].tolist()
    order = sorted(
        (-score, name_of(place), place)
        for score, place in zip(scores[places].tolist(), places, strict=True)
    )
    return [place for *_, place in order[:limit]]
