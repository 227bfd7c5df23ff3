"""Choose few of many by their scores."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from registry.search.bm25 import Floats, Ints
from registry.search.postings import Gains, Postings

CANDIDATES = 300
"""How many of the best by BM25 are looked at closely, for each text of a need."""

Mask = NDArray[np.bool_]


def candidates_of(postings: Postings, texts: Sequence[Gains], mask: Mask | None) -> Ints:
    """Return the slots that are the best by BM25 for any of the texts, in their order."""
    allowed = postings.alive if mask is None else postings.alive & mask
    chosen = [best(postings.scores(gains) * allowed) for gains in texts if gains.pieces]
    if not chosen:
        return np.zeros(0, np.int32)
    return np.unique(np.concatenate(chosen)).astype(np.int32)


def best(scores: Floats, most: int = CANDIDATES) -> NDArray[np.intp]:
    """Return the places of the highest positive scores, in no order."""
    found = np.flatnonzero(scores > 0)
    if len(found) > most:
        found = found[np.argpartition(scores[found], -most)[-most:]]
    return found


def first_of(scores: Floats, name_of: Callable[[int], str], limit: int) -> list[int]:
    """Return the places of the highest positive scores in order, equals by their names."""
    places = best(scores, limit)
    if limit < len(scores) and len(places):
        # equals of the last one stand outside by chance
        places = np.flatnonzero(scores >= scores[places].min())
    order = sorted(map(int, places), key=lambda place: (-scores[place], name_of(place)))
    return order[:limit]
