"""The formulas of BM25 Okapi over arrays, with fields whose weights move.

With `idf="okapi"` the scores are those of `rank_bm25.BM25Okapi` (Trotman et al., "Improvements to
BM25 and Language Models Examined"): raw inverse document frequency, with terms that more than half
of the documents hold raised to `epsilon` times the average.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Idf = Literal["okapi", "lucene"]
Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Scheme:
    """How counts become scores: the weight of each field, and BM25's parameters.

    `idf="lucene"` weighs a term by log(1 + (N - n + .5) / (n + .5)), which is always positive.
    `idf="okapi"` weighs as rank-bm25 does; there a term that half of the documents hold weighs
    nothing, so a registry of two tools finds none.
    """

    fields: tuple[float, ...]
    k1: float = 1.5
    b: float = 0.75
    epsilon: float = 0.25
    idf: Idf = "lucene"

    @cached_property
    def weights(self) -> Floats:
        """Return the weight of each field as an array."""
        return np.array(self.fields)

    def idf_of(self, holders: NDArray[Any] | int, documents: int) -> Floats:
        """Return how much a term tells that so many of all documents hold; raw, maybe negative."""
        absent = documents - holders + 0.5
        held = np.add(holders, 0.5)
        if self.idf == "lucene":
            return np.asarray(np.log1p(absent / held))
        return np.asarray(np.log(absent) - np.log(held))

    def least_idf(self, holders: Ints, documents: int) -> float:
        """Return what replaces a negative IDF: a share of the average over all terms in use."""
        used = holders[holders > 0]
        return self.epsilon * float(self.idf_of(used, documents).mean()) if len(used) else 0.0

    def frequencies(self, counts: NDArray[Any]) -> Floats:
        """Return the weighted sum of each row of counts by field."""
        return np.asarray(counts @ self.weights)

    def gains(self, frequencies: Floats, lengths: Floats, average: float) -> Floats:
        """Return what a term adds to documents that say it so often, for an IDF of 1."""
        relative = lengths / average if average else np.ones_like(lengths)
        norm = self.k1 * (1 - self.b + self.b * relative)
        return frequencies * (self.k1 + 1) / (frequencies + norm)
