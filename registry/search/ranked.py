"""What a ranking tells of its candidates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from registry.search.look import Look
from registry.search.scored import Scored

Vector = NDArray[np.float32]


@dataclass(frozen=True)
class Ranked:
    """One candidate: `score` is its relevance in 0–1, `parts` say how it came about."""

    id: str
    score: float
    parts: Mapping[str, float]


def ranked(look: Look, ids: Sequence[str], limit: int) -> list[Ranked]:
    """Return the best, each with its relevance, which falls in order; `ids` are by slot."""
    totals = np.array([each.total for each in look.scored])
    lift = look.lifts[0] * look.lifts[1] * look.lifts[2]
    own = (look.relevance * look.shares).tolist()
    return [
        Ranked(
            ids[look.candidates[place]],
            round(score, 4),
            {
                **_parts_of(
                    look.scored[int(totals[:, place].argmax()) if len(totals) > 1 else 0], place
                ),
                "history": round(float(look.earlier.added[place]), 4),
                "factor": round(float(lift[place]), 4),
                **_told_of(look.meant, place),
            },
        )
        for place, score in zip(look.order[:limit], own, strict=False)
    ]


def _parts_of(scored: Scored, place: int) -> dict[str, float]:
    """Return what one text adds to the score of a candidate."""
    return {
        "text": round(float(scored.text[place]), 4),
        "coverage": round(float(scored.coverage[place]), 4),
        "clause": round(float(scored.clause[place]), 4),
        "passage": round(float(scored.passage[place]), 4),
        "limitations": round(float(-scored.limitations[place]), 4),
    }


def _told_of(likeness: Vector | None, place: int) -> dict[str, float]:
    """Return the likeness in meaning of a candidate, where it is known."""
    if likeness is None or np.isnan(likeness[place]):
        return {}
    return {"dense": round(float(likeness[place]), 4)}
