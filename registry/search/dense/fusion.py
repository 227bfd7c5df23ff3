"""Join what the words say and what the meaning says into one order of candidates.

Both scores are stretched to 0–1 over the candidates and added by shares. Of the ways that were
measured this one was best; joining ranks (RRF) lost two points (docs/how-to/semantic.md).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CLAUSE_STEP = 0.1
"""How much the share falls for each clause after the first: one vector blurs several needs."""

LEAST_SHARE = 0.3

FEWEST = 2
"""Candidates with a vector that it takes to join anything."""

Scores = NDArray[np.float64]


def share_of(share: float, clauses: int) -> float:
    """Return the share of the meaning for a message of so many clauses."""
    return min(share, max(LEAST_SHARE, share - CLAUSE_STEP * max(0, clauses - 1)))


def fuse(lexical: Scores, likeness: NDArray[np.floating], share: float) -> Scores:
    """Return the joined score of each candidate, in the range of the lexical scores.

    `likeness` is NaN for a candidate without a vector: it is taken to be as near as candidates of
    its lexical score are on average, so that a tool that is new is neither lost nor preferred.
    With too few vectors to compare, the lexical scores are returned as they are.
    """
    known = ~np.isnan(likeness)
    if share <= 0 or known.sum() < FEWEST:
        return lexical
    joined = (1 - share) * _stretched(lexical) + share * _meaning(lexical, likeness)
    least, most = float(lexical.min()), float(lexical.max())
    return _stretched(joined) * (most - least) + least if most > least else joined


class Fused(NamedTuple):
    """A joined score as a sum: `words` times the lexical one, plus `meaning`, plus `shift`."""

    words: float
    meaning: Scores
    shift: float


def fused_of(lexical: Scores, likeness: NDArray[np.floating], share: float) -> Fused:
    """Return what `fuse` makes of scores, as sums; for explanations."""
    if share <= 0 or (~np.isnan(likeness)).sum() < FEWEST:
        return Fused(1.0, np.zeros(len(lexical)), 0.0)
    meaning = share * _meaning(lexical, likeness)
    least, most = float(lexical.min()), float(lexical.max())
    if most <= least:
        return Fused(0.0, meaning, 0.0)
    joined = (1 - share) * _stretched(lexical) + meaning
    low, high = float(joined.min()), float(joined.max())
    if high <= low:
        return Fused(0.0, np.zeros(len(lexical)), least)
    words = (1 - share) / (high - low)
    scale = (most - least) / (high - low)
    return Fused(words, meaning * scale, least - low * scale - words * least)


def _meaning(lexical: Scores, likeness: NDArray[np.floating]) -> Scores:
    """Return how near each candidate is in meaning, in 0–1; expected where it is not known."""
    known = ~np.isnan(likeness)
    meaning = np.zeros(len(lexical))
    meaning[known] = _stretched(likeness[known].astype(np.float64))
    if not known.all():
        words = _stretched(lexical)
        meaning[~known] = _expected(words[known], meaning[known], words[~known])
    return meaning


def _stretched(values: Scores) -> Scores:
    least, most = float(values.min()), float(values.max())
    return (values - least) / (most - least) if most > least else np.zeros_like(values)


def _expected(words: Scores, meaning: Scores, asked: Scores) -> Scores:
    """Return the least-squares line through the known candidates, at the asked ones."""
    centred = words - words.mean()
    spread = float(centred @ centred)
    slope = float(centred @ meaning) / spread if spread else 0.0
    expected: Scores = np.clip(meaning.mean() + slope * (asked - words.mean()), 0.0, 1.0)
    return expected
