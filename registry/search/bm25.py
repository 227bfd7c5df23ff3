"""Rank documents by BM25 Okapi, with documents that come and go.

With `idf="okapi"` the scores are those of `rank_bm25.BM25Okapi` (Trotman et al., "Improvements to
BM25 and Language Models Examined"): raw inverse document frequency, with terms that more than half
of the documents hold raised to `epsilon` times the average. Only counts are stored; everything
that an update would change for all documents (IDF, average length) is computed when a query asks.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Idf = Literal["okapi", "lucene"]
Terms = Iterable[str] | Mapping[str, float]
"""Terms in order with repeats, or terms with their weights."""

UNKNOWN_TERM_SHARE = 0.35
"""How much a query term that no document holds weighs against relevance, beside a term that one
document holds: it may be a name or a payload (`Tokyo`), or the very thing that no tool does."""


class Hit(NamedTuple):
    """One found document: its score, and its relevance in 0–1 (see `Index.relevance`)."""

    id: str
    score: float
    relevance: float


class _Postings(NamedTuple):
    slots: NDArray[np.intp]
    frequencies: NDArray[np.float64]


class Index:
    """An in-memory BM25 index over weighted terms.

    `idf="lucene"` weighs a term by log(1 + (N - n + .5) / (n + .5)), which is always positive.
    `idf="okapi"` weighs as rank-bm25 does; there a term that half of the documents hold weighs
    nothing, so a registry of two tools finds none. Not safe for concurrent use with writes.
    """

    def __init__(
        self, *, k1: float = 1.5, b: float = 0.75, epsilon: float = 0.25, idf: Idf = "lucene"
    ) -> None:
        self.k1, self.b, self.epsilon, self.idf = k1, b, epsilon, idf
        self._slots: dict[str, int] = {}
        self._free: list[int] = []
        self._ids: list[str] = []
        self._lengths: NDArray[np.float64] = np.zeros(16)
        self._documents: dict[str, dict[str, float]] = {}
        self._postings: dict[str, dict[int, float]] = {}
        self._arrays: dict[str, _Postings] = {}
        self._total_length = 0.0
        self._idf_floor: float | None = None

    def __len__(self) -> int:
        return len(self._documents)

    def __contains__(self, document_id: object) -> bool:
        return document_id in self._documents

    def put(self, document_id: str, terms: Terms) -> None:
        """Add a document, or replace it."""
        self.remove(document_id)
        weights = _weights(terms)
        slot = self._take_slot(document_id)
        length = math.fsum(weights.values())
        self._slots[document_id] = slot
        self._documents[document_id] = weights
        self._lengths[slot] = length
        self._total_length += length
        for term, weight in weights.items():
            self._postings.setdefault(term, {})[slot] = weight
            self._arrays.pop(term, None)
        self._idf_floor = None

    def remove(self, document_id: str) -> None:
        """Take a document out; do nothing when it is not in the index."""
        weights = self._documents.pop(document_id, None)
        if weights is None:
            return
        slot = self._slots.pop(document_id)
        self._free.append(slot)
        self._total_length -= float(self._lengths[slot])
        self._lengths[slot] = 0.0
        for term in weights:
            holders = self._postings[term]
            del holders[slot]
            self._arrays.pop(term, None)
            if not holders:
                del self._postings[term]
        self._idf_floor = None

    def scores(self, query: Terms) -> dict[str, float]:
        """Return the score of each document that shares a term with the query."""
        scores, touched = self._score(_weights(query))
        return {self._ids[slot]: float(scores[slot]) for slot in np.flatnonzero(touched)}

    def search(self, query: Terms, *, limit: int) -> list[Hit]:
        """Return the best `limit` documents with a positive score, the best first.

        Equal scores are ordered by id, so that the same query gives the same answer everywhere.
        """
        weights = _weights(query)
        scores, _ = self._score(weights)
        found = np.flatnonzero(scores > 0)
        if len(found) > limit > 0:
            threshold = np.partition(scores[found], -limit)[-limit]
            found = found[scores[found] >= threshold]
        ideal = self._ideal(weights)
        ranked = sorted((-float(scores[slot]), self._ids[slot]) for slot in found)[:limit]
        return [Hit(name, -score, _share(-score, ideal)) for score, name in ranked]

    def relevance(self, query: Terms, score: float) -> float:
        """Return a score in relation to what a plainly fitting document would have, in 0–1.

        That document is of average length and says every term of the query once; it would get
        .76. A BM25 score alone is no scale: it grows with the query and with the registry. Here a
        message about something else stays low, because most of its terms are found nowhere.
        """
        return _share(score, self._ideal(_weights(query)))

    def _ideal(self, query: Mapping[str, float]) -> float:
        unknown = UNKNOWN_TERM_SHARE * self._raw_idf(1) if self._documents else 0.0
        return math.fsum(
            weight * (self._term_idf(term) if term in self._postings else unknown)
            for term, weight in query.items()
        )

    def _score(self, query: Mapping[str, float]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the scores by slot, and which slots share a term with the query."""
        scores = np.zeros(len(self._ids))
        touched = np.zeros(len(self._ids), dtype=np.bool_)
        if not self._total_length:
            return scores, touched
        average = self._total_length / len(self._documents)
        for term, weight in query.items():
            if term not in self._postings:
                continue
            slots, frequencies = self._array(term)
            norm = self.k1 * (1 - self.b + self.b * self._lengths[slots] / average)
            gain = frequencies * (self.k1 + 1) / (frequencies + norm)
            scores[slots] += weight * self._term_idf(term) * gain
            touched[slots] = True
        return scores, touched

    def _array(self, term: str) -> _Postings:
        found = self._arrays.get(term)
        if found is None:
            holders = self._postings[term]
            found = _Postings(
                np.fromiter(holders, dtype=np.intp, count=len(holders)),
                np.fromiter(holders.values(), dtype=np.float64, count=len(holders)),
            )
            self._arrays[term] = found
        return found

    def _raw_idf(self, holders: int) -> float:
        absent = len(self._documents) - holders + 0.5
        if self.idf == "lucene":
            return math.log1p(absent / (holders + 0.5))
        return math.log(absent) - math.log(holders + 0.5)

    def _term_idf(self, term: str) -> float:
        idf = self._raw_idf(len(self._postings[term]))
        return idf if idf >= 0 else self._floor()

    def _floor(self) -> float:
        """Return what replaces a negative IDF; grouped by frequency, since few values differ."""
        if self._idf_floor is None:
            groups = Counter(len(holders) for holders in self._postings.values())
            total = math.fsum(self._raw_idf(holders) * n for holders, n in groups.items())
            self._idf_floor = self.epsilon * total / len(self._postings)
        return self._idf_floor

    def _take_slot(self, document_id: str) -> int:
        if self._free:
            slot = self._free.pop()
            self._ids[slot] = document_id
            return slot
        slot = len(self._ids)
        self._ids.append(document_id)
        if slot >= len(self._lengths):
            self._lengths = np.concatenate([self._lengths, np.zeros(len(self._lengths))])
        return slot


def _weights(terms: Terms) -> dict[str, float]:
    if isinstance(terms, Mapping):
        return {term: float(weight) for term, weight in terms.items() if weight > 0}
    return {term: float(count) for term, count in Counter(terms).items()}


def _share(score: float, ideal: float) -> float:
    """Return the score's relation to the ideal one, bent into 0–1; the order stays as it is."""
    return math.tanh(score / ideal) if score > 0 and ideal > 0 else 0.0
