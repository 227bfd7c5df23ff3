"""What a ranking tells of one candidate."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from registry.search.scored import Scored

Vector = NDArray[np.float32]


@dataclass(frozen=True)
class Ranked:
    """One candidate: `score` is its relevance in 0–1, `parts` say how it came about."""

    id: str
    score: float
    parts: Mapping[str, float]


def parts_of(scored: Scored, place: int) -> dict[str, float]:
    """Return what one text adds to the score of a candidate."""
    return {
        "text": round(float(scored.text[place]), 4),
        "coverage": round(float(scored.coverage[place]), 4),
        "clause": round(float(scored.clause[place]), 4),
        "passage": round(float(scored.passage[place]), 4),
        "limitations": round(float(-scored.limitations[place]), 4),
    }


def told_of(likeness: Vector | None, place: int) -> dict[str, float]:
    """Return the likeness in meaning of a candidate, where it is known."""
    if likeness is None or np.isnan(likeness[place]):
        return {}
    return {"dense": round(float(likeness[place]), 4)}
