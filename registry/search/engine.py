"""Rank tools for a need: BM25 finds candidates, a closer look orders them.

The recipe and its figures stand in `docs/reference/search-quality.md`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from registry.search.bm25 import Floats, Gains, Postings, Scheme
from registry.search.document import SearchDocument, terms_of
from registry.search.need import Need, Reading, read
from registry.search.tokens import tokenize
from registry.search.weights import Weights

CANDIDATES = 300
"""How many of the best by BM25 are looked at closely, for each text of a need."""

UNKNOWN_TERM_SHARE = 0.35
"""How much a query term that no document holds weighs against relevance, beside a term that one
document holds: it may be a name or a payload (`Tokyo`), or the very thing that no tool does."""

Mask = NDArray[np.bool_]
Slots = NDArray[np.intp]


@dataclass(frozen=True)
class Ranked:
    """One candidate: `score` is its relevance in 0–1, `parts` say how it came about."""

    id: str
    score: float
    parts: Mapping[str, float]


class _Held(NamedTuple):
    """What is kept of a document beside its postings."""

    id: str
    name: frozenset[str]
    passages: tuple[frozenset[str], ...]
    limitations: frozenset[str]


class _Scored(NamedTuple):
    """How one text of a need scores the candidates, each part by candidate."""

    text: Floats
    coverage: Floats
    clause: Floats
    passage: Floats
    limitations: Floats
    relevance: Floats

    @property
    def total(self) -> Floats:
        """Return the sum of the parts."""
        return self.text + self.coverage + self.clause + self.passage - self.limitations


class Engine:
    """The index of all tools. Not safe for concurrent use with writes."""

    def __init__(self, weights: Weights | None = None) -> None:
        self.weights = weights or Weights()
        self._postings = Postings(_scheme(self.weights))
        self._slots: dict[str, int] = {}
        self._held: list[_Held] = []
        self._merit: NDArray[np.float64] = np.zeros((16, 3))

    @classmethod
    def build(cls, documents: Iterable[SearchDocument], weights: Weights | None = None) -> "Engine":
        """Return an index of documents."""
        engine = cls(weights)
        for document in documents:
            engine.put(document)
        return engine

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, document_id: object) -> bool:
        return document_id in self._slots

    @property
    def size(self) -> int:
        """Return how many slots there are: the length of a mask."""
        return self._postings.size

    def slot(self, document_id: str) -> int:
        """Return the slot of a document. Raises KeyError where it is not in the index."""
        return self._slots[document_id]

    def put(self, document: SearchDocument) -> int:
        """Add a document, or replace it; return its new slot."""
        self.remove(document.id)
        texts = terms_of(document)
        slot = self._postings.add(texts)
        self._slots[document.id] = slot
        self._held.append(
            _Held(
                document.id,
                frozenset(texts[0]),
                tuple(frozenset(tokenize(example)) for example in document.examples),
                frozenset(tokenize(document.limitations)),
            )
        )
        if slot >= len(self._merit):
            self._merit = np.concatenate([self._merit, np.zeros_like(self._merit)])
        self._merit[slot] = (
            document.quality,
            document.health,
            math.log10(document.downloads + 1),
        )
        return slot

    def remove(self, document_id: str) -> None:
        """Take a document out; do nothing when it is not in the index."""
        slot = self._slots.pop(document_id, None)
        if slot is not None:
            self._postings.drop(slot)

    def rank(
        self,
        need: Need,
        *,
        weights: Weights | None = None,
        mask: Mask | None = None,
        limit: int = 50,
    ) -> list[Ranked]:
        """Return the best tools for a need, the best first; equals in the order of their ids.

        `mask` says for each slot whether it may be found at all. `weights` other than the
        index's own are applied as exactly, only slower.
        """
        weights = weights or self.weights
        said = [_read(text) for text in (need.text, *need.queries)]
        earlier = _read(" ".join(need.recent)) if need.recent else Reading({})
        gains = [self._gains(reading, weights) for reading in (*said, earlier)]
        candidates = self._candidates(gains, mask)
        if not len(candidates):
            return []
        scored = [
            self._scored(reading, gained, candidates, weights)
            for reading, gained in zip(said, gains, strict=False)
        ]
        history = self._history(gains[-1], candidates, weights)
        return self._fused(scored, history, candidates, weights)[:limit]

    def _gains(self, reading: Reading, weights: Weights) -> list[Gains]:
        return self._postings.gains(reading.terms, _scheme(weights))

    def _candidates(self, texts: Sequence[Sequence[Gains]], mask: Mask | None) -> Slots:
        """Return the slots that are the best by BM25 for any of the texts, in their order."""
        allowed = self._postings.alive if mask is None else self._postings.alive & mask
        chosen = [_best(self._postings.scores(gains) * allowed) for gains in texts if gains]
        return np.unique(np.concatenate(chosen)) if chosen else np.zeros(0, dtype=np.intp)

    def _scored(
        self, reading: Reading, gains: Sequence[Gains], candidates: Slots, weights: Weights
    ) -> _Scored:
        by_term = _by_term(gains, candidates)
        total = by_term.sum(axis=1)
        most = float(total.max(initial=0.0))
        numbers = {gain.term: number for number, gain in enumerate(gains)}
        idf = {term: self._idf(term, weights) for term in reading.terms}
        best = np.zeros(len(candidates))
        relevance = _share(total, sum(reading.terms[term] * idf[term] for term in idf))
        for clause in reading.clauses:
            columns = [numbers[term] for term in clause if term in numbers]
            if columns:
                np.maximum(best, by_term[:, columns].sum(axis=1), out=best)
        held = [self._held[slot] for slot in candidates]
        known = {term for term in reading.terms if term in numbers}
        all_known = sum(idf[term] for term in known)

        def shared(terms: frozenset[str]) -> float:
            """Return how much of the query's and the terms' weight is the same (cosine)."""
            common = sum(idf[term] for term in terms & known)
            if not common or not all_known:
                return 0.0
            own = sum(self._idf(term, weights) for term in terms)
            return common / math.sqrt(all_known * own)

        def covered(name: frozenset[str]) -> float:
            if not (common := sum(idf[term] for term in name & known)):
                return 0.0
            return common / sum(self._idf(term, weights) for term in name)

        return _Scored(
            text=total / most if most else total,
            coverage=weights.name_coverage * np.array([covered(item.name) for item in held]),
            clause=weights.clause * best / most if most else best,
            passage=weights.passage
            * np.array([max(map(shared, item.passages), default=0.0) for item in held]),
            limitations=weights.limitations
            * np.array([shared(item.limitations) if item.limitations else 0.0 for item in held]),
            relevance=relevance,
        )

    def _history(self, gains: Sequence[Gains], candidates: Slots, weights: Weights) -> Floats:
        total: Floats = _by_term(gains, candidates).sum(axis=1)
        most = float(total.max(initial=0.0))
        return weights.history * total / most if most else total

    def _fused(
        self, scored: Sequence[_Scored], history: Floats, candidates: Slots, weights: Weights
    ) -> list[Ranked]:
        """Return the candidates in order.

        The relevance of the best is what its words say; the others have the share of it that
        they have of its score, so that order and relevance agree.
        """
        totals = np.array([each.total for each in scored])
        merit = self._merit[candidates]
        factors = np.array([weights.quality, weights.health, weights.popularity])
        lift = np.prod(1 + merit * factors, axis=1)
        score = (totals.mean(axis=0) + history) * lift
        order = sorted(
            np.flatnonzero(score > 0),
            key=lambda place: (-score[place], self._held[candidates[place]].id),
        )
        if not order:
            return []
        relevance = max(float(each.relevance.max()) for each in scored) + float(history[order[0]])
        most = float(score[order[0]])
        ranked = []
        for place in order:
            told = scored[int(totals[:, place].argmax())]
            ranked.append(
                Ranked(
                    self._held[candidates[place]].id,
                    round(min(1.0, relevance * float(score[place]) / most), 4),
                    {
                        "text": round(float(told.text[place]), 4),
                        "coverage": round(float(told.coverage[place]), 4),
                        "clause": round(float(told.clause[place]), 4),
                        "passage": round(float(told.passage[place]), 4),
                        "limitations": round(float(-told.limitations[place]), 4),
                        "history": round(float(history[place]), 4),
                        "factor": round(float(lift[place]), 4),
                    },
                )
            )
        return ranked

    def gains(self, reading: Reading, weights: Weights) -> list[Gains]:
        """Return what each term of a text adds to each tool that has it, for explanations."""
        return self._gains(reading, weights)

    def idf(self, term: str, weights: Weights) -> float:
        """Return how much a term tells."""
        return self._idf(term, weights)

    def counts(self, term: str, slot: int) -> Sequence[int]:
        """Return how often each text of a tool says a term, in the order of `FIELDS`."""
        return self._postings.counts(term, slot)

    def lifts(self, slot: int, weights: Weights) -> tuple[float, float, float]:
        """Return what quality, health and popularity multiply the score of a tool by."""
        quality, health, popularity = self._merit[slot].tolist()
        return (
            1 + quality * weights.quality,
            1 + health * weights.health,
            1 + popularity * weights.popularity,
        )

    def adopt(self, weights: Weights) -> None:
        """Rank by other weights from now on, as quickly as by those before."""
        if weights != self.weights:
            self.weights = weights
            self._postings.adopt(_scheme(weights))

    def _idf(self, term: str, weights: Weights) -> float:
        idf = self._postings.idf(term, _scheme(weights))
        if idf is None:
            return UNKNOWN_TERM_SHARE * self._postings.rarest_idf(_scheme(weights))
        return idf


@lru_cache(maxsize=64)
def _scheme(weights: Weights) -> Scheme:
    return Scheme(weights.of_texts, k1=weights.k1, b=weights.b)


@lru_cache(maxsize=256)
def _read(text: str) -> Reading:
    return read(text)


def _best(scores: Floats) -> Slots:
    """Return the slots with the highest positive scores."""
    found = np.flatnonzero(scores > 0)
    if len(found) > CANDIDATES:
        found = found[np.argpartition(scores[found], -CANDIDATES)[-CANDIDATES:]]
    return found


def _by_term(gains: Sequence[Gains], candidates: Slots) -> Floats:
    """Return a matrix of what each term (column) adds to each candidate (row)."""
    matrix = np.zeros((len(candidates), len(gains)))
    for column, (_, slots, values) in enumerate(gains):
        order = np.searchsorted(candidates, slots)
        order[order == len(candidates)] = 0
        hit = candidates[order] == slots
        matrix[order[hit], column] = values[hit]
    return matrix


def _share(scores: Floats, ideal: float) -> Floats:
    """Return the relation of scores to that of a plainly fitting document, bent into 0–1.

    That document is of average length and says every term of the query once. A BM25 score alone
    is no scale: it grows with the query and with the registry.
    """
    return np.tanh(scores / ideal) if ideal > 0 else np.zeros_like(scores)
