"""Rank tools for a need: BM25 finds candidates, a closer look orders them.

The recipe and its figures stand in `docs/reference/search-quality.md`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from registry.search.arrays import Array, Growing
from registry.search.bm25 import Floats, Ints, Scheme
from registry.search.candidates import Mask, candidates_of, first_of
from registry.search.document import SearchDocument, terms_of
from registry.search.forward import IdfOf, Known
from registry.search.kept import Kept, merit_of
from registry.search.need import Need, Reading, read
from registry.search.postings import Gains, Postings
from registry.search.tokens import tokenize
from registry.search.weights import Weights

UNKNOWN_TERM_SHARE = 0.35
"""How much a query term that no document holds weighs against relevance, beside a term that one
document holds: it may be a name or a payload (`Tokyo`), or the very thing that no tool does."""

MOST_EARLIER = 50_000
"""Postings of earlier messages that choose candidates. Above, in large registries, the words that
most tools say choose none; they are still scored."""

LENGTH_DRIFT = 1e-3
"""By how much the average length may be off, as a share, before gains are computed anew."""


@dataclass(frozen=True)
class Ranked:
    """One candidate: `score` is its relevance in 0–1, `parts` say how it came about."""

    id: str
    score: float
    parts: Mapping[str, float]


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

    def __init__(self, weights: Weights | None = None, kept: Kept | None = None) -> None:
        self.weights = weights or Weights()
        kept = kept or Kept.of([])
        self._postings = Postings(_scheme(self.weights), drift=LENGTH_DRIFT, state=kept.postings)
        self._forward = kept.forward
        self._ids = kept.ids
        self._slots = {id_: slot for slot, id_ in enumerate(kept.ids) if kept.postings.alive[slot]}
        self._merit = Growing(kept.merit)

    @classmethod
    def build(cls, documents: Iterable[SearchDocument], weights: Weights | None = None) -> "Engine":
        """Return an index of documents, the last of those with the same id."""
        return cls(weights, Kept.of(list({each.id: each for each in documents}.values())))

    def arrays(self) -> tuple[dict[str, Array], dict[str, list[str]]]:
        """Return all that the index keeps: arrays, and lists of texts. Slots stay as they are."""
        kept = self._kept()
        return kept.arrays(), kept.texts()

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, Array],
        texts: Mapping[str, Sequence[str]],
        weights: Weights | None = None,
    ) -> "Engine":
        """Return the index that `arrays` told of; they may be mapped from a file.

        Raises KeyError where a part is missing. What the parts hold is believed.
        """
        return cls(weights, Kept.from_arrays(arrays, texts))

    @property
    def slack(self) -> int:
        """Return how many documents came since the last compaction or are gone.

        Each makes a search a little slower; beyond a tenth of all, `compacted` pays.
        """
        return self._postings.slack

    def compacted(self) -> "tuple[Engine, Ints]":
        """Return the same index without what is gone, and the new slot of each old one, or -1.

        Searches may go on in other threads meanwhile; writes must wait (0.3 s for 100,000).
        """
        kept, slots = self._kept().compacted()
        return Engine(self.weights, kept), slots

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

    def _kept(self) -> Kept:
        return Kept(self._ids, self._postings.state, self._forward, self._merit.values)

    def put(self, document: SearchDocument) -> int:
        """Add a document, or replace it; return its new slot."""
        self.remove(document.id)
        texts = terms_of(document)
        slot = self._postings.add(texts)
        numbers = self._postings.numbers
        self._forward.append(
            numbers(texts[0]),
            [numbers(tokenize(example)) for example in document.examples],
            numbers(tokenize(document.limitations)),
        )
        self._slots[document.id] = slot
        self._ids.append(document.id)
        self._merit.extend(np.array([merit_of(document)]))
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
        earlier = _together(need.recent)
        scheme = self._scheme(weights)
        gains = [self._postings.gains(reading.terms, scheme) for reading in said]
        gains.append(self._postings.gains(earlier, scheme, MOST_EARLIER))
        candidates = candidates_of(self._postings, gains[:-1], gains[-1], mask)
        if not len(candidates):
            return []
        scored = [
            self._scored(reading, gained, candidates, weights)
            for reading, gained in zip(said, gains, strict=False)
        ]
        history = _history(gains[-1], candidates, weights)
        return self._fused(scored, history, candidates, weights, limit)

    def _scheme(self, weights: Weights) -> Scheme:
        return self._postings.scheme if weights == self.weights else _scheme(weights)

    def _scored(
        self, reading: Reading, gains: Gains, candidates: Ints, weights: Weights
    ) -> _Scored:
        total = gains.total(candidates)
        most = float(total.max(initial=0.0))
        columns = {term: column for column, term in enumerate(gains.terms)}
        best = np.zeros(len(candidates))
        by_term = gains.by_term(candidates) if reading.clauses else best
        for clause in reading.clauses:
            said = [columns[term] for term in clause if term in columns]
            if said:
                np.maximum(best, by_term.T[said].sum(axis=0), out=best)
        known = Known(gains.numbers, gains.idf, len(self._postings.holders))

        def idf_of(terms: Ints) -> Floats:
            return self._idf_of(terms, weights)

        def weighed(weight: float, part: Callable[[Ints, Known, IdfOf], Floats]) -> Floats:
            if not weight or not gains.terms:
                return np.zeros(len(candidates))
            return weight * part(candidates, known, idf_of)

        return _Scored(
            text=total / most if most else total,
            coverage=weighed(weights.name_coverage, self._forward.coverage),
            clause=weights.clause * best / most if most else best,
            passage=weighed(weights.passage, self._forward.likeness_of_passages),
            limitations=weighed(weights.limitations, self._forward.likeness_of_limitations),
            relevance=_share(total, self._ideal(reading, gains, weights)),
        )

    def _ideal(self, reading: Reading, gains: Gains, weights: Weights) -> float:
        """Return the score of a document of average length that says each term of a text once."""
        unknown = sum(reading.terms.values()) - sum(reading.terms[term] for term in gains.terms)
        return float(gains.factors.sum()) + unknown * self._unknown_idf(weights)

    def _fused(
        self,
        scored: Sequence[_Scored],
        history: Floats,
        candidates: Ints,
        weights: Weights,
        limit: int,
    ) -> list[Ranked]:
        """Return the first candidates in order.

        The relevance of the best is what its words say; the others have the share of it that
        they have of its score, so that order and relevance agree.
        """
        totals = np.array([each.total for each in scored])
        factors = np.array([weights.quality, weights.health, weights.popularity])
        lifts = 1 + self._merit.values[candidates] * factors
        lift = lifts[:, 0] * lifts[:, 1] * lifts[:, 2]
        score = (totals.sum(axis=0) / len(scored) + history) * lift
        order = first_of(score, lambda place: self._ids[candidates[place]], limit)
        if not order:
            return []
        relevance = max(float(each.relevance.max()) for each in scored) + float(history[order[0]])
        most = float(score[order[0]])
        ranked = []
        for place in order:
            told = scored[int(totals[:, place].argmax()) if len(scored) > 1 else 0]
            ranked.append(
                Ranked(
                    self._ids[candidates[place]],
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

    def _idf_of(self, terms: Ints, weights: Weights) -> Floats:
        idf = self._postings.idf_of(terms, self._scheme(weights))
        idf[self._postings.holders[terms] == 0] = self._unknown_idf(weights)
        return idf

    def _unknown_idf(self, weights: Weights) -> float:
        return UNKNOWN_TERM_SHARE * self._postings.rarest_idf(self._scheme(weights))


def _history(gains: Gains, candidates: Ints, weights: Weights) -> Floats:
    total = gains.total(candidates)
    most = float(total.max(initial=0.0))
    return weights.history * total / most if most else total


@lru_cache(maxsize=64)
def _scheme(weights: Weights) -> Scheme:
    return Scheme(weights.of_texts, k1=weights.k1, b=weights.b)


@lru_cache(maxsize=256)
def _read(text: str) -> Reading:
    return read(text)


def _together(texts: Sequence[str]) -> dict[str, float]:
    """Return the terms of texts as if they were one, each read once in its conversation."""
    counts: dict[str, float] = {}
    for text in texts:
        for term, weight in _read(text).terms.items():
            counts[term] = counts.get(term, 0.0) + weight**2
    return {term: count**0.5 for term, count in counts.items()}


def _share(scores: Floats, ideal: float) -> Floats:
    """Return the relation of scores to that of a plainly fitting document, bent into 0–1.

    That document is of average length and says every term of the query once. A BM25 score alone
    is no scale: it grows with the query and with the registry.
    """
    return np.tanh(scores / ideal) if ideal > 0 else np.zeros_like(scores)
