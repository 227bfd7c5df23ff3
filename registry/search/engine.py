"""Rank tools for a need: BM25 finds candidates, a closer look orders them.

The recipe and its figures stand in `docs/reference/search-ranking.md`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from registry.search.arrays import Array, Growing
from registry.search.bm25 import Floats, Ints, Scheme
from registry.search.candidates import CANDIDATES, Mask, candidates_of, first_of
from registry.search.dense import fusion
from registry.search.dense.vectors import Vectors
from registry.search.document import SearchDocument, terms_of
from registry.search.form import REQUEST, Form, form_of
from registry.search.forward import IdfOf, Known
from registry.search.history import reliance
from registry.search.kept import Kept, merit_of
from registry.search.need import Need, Reading, read
from registry.search.postings import Gains, Postings
from registry.search.relevance import (
    FROM_HISTORY,
    LOOKED_AT,
    everyday,
    features,
    reasons,
    relevance,
    spread,
)
from registry.search.scoring import best_clause, leads, together
from registry.search.spelling import Spelling
from registry.search.tokens import tokenize, words_of
from registry.search.weights import Weights

Vector = NDArray[np.float32]

SCANNED = 2_000
"""Tools among which the nearest in meaning are looked for where words find few."""

UNKNOWN_TERM_SHARE = 0.35
"""How much a query term that no document holds weighs against relevance, beside a term that one
document holds: it may be a name or a payload (`Tokyo`), or the very thing that no tool does."""

MOST_CORRECTED = 8
"""Words of one text that are read as others; a text with more is in another language."""

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
    covered: Floats

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
        self._spelling: Spelling | None = None

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

    @property
    def alive(self) -> Mask:
        """Return for each slot whether a document is in it, to be read alone."""
        return self._postings.alive

    @property
    def ids(self) -> Sequence[str]:
        """Return for each slot the id of the document that is or was in it."""
        return self._ids

    def id_of(self, slot: int) -> str:
        """Return the id of the document in a slot."""
        return self._ids[slot]

    def scores_of(self, terms: Mapping[str, float]) -> Floats:
        """Return by slot what weighted terms score by BM25 alone."""
        return self._postings.gains(terms).scores

    def idf(self, term: str) -> float:
        """Return the idf of a term, 0 where no document holds it."""
        return self._postings.idf(term) or 0.0

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

    def set_merit(self, document: SearchDocument) -> None:
        """Take over what orders equals of a document whose words are as they were."""
        self._merit.write(self._slots[document.id], merit_of(document))

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
        vectors: Vectors | None = None,
        query_vector: Vector | None = None,
    ) -> list[Ranked]:
        """Return the best tools for a need, the best first; equals in the order of their ids.

        `mask` says for each slot whether it may be found at all. `weights` other than the
        index's own are applied as exactly, only slower. With `vectors` and the vector of the
        need, likeness in meaning orders the candidates as well.
        """
        weights = weights or self.weights
        said = [_read(text) for text in (need.text, *need.queries)]
        leans = need.recent and weights.history and _reliance(said[0]) > 0
        texts = [*said, _read(_recent(need)) if leans else Reading({})]
        texts = [self._spelt(reading, weights) for reading in texts]
        gains = [self._gains(reading, weights) for reading in texts[:-1]]
        gains.append(self._gains(texts[-1], weights, MOST_EARLIER))
        candidates = candidates_of(self._postings, gains[:-1], gains[-1], mask)
        meant = None
        if vectors is not None and query_vector is not None and said[0].terms:
            candidates = self._with_near(candidates, mask, vectors, query_vector)
            meant = self._likeness(candidates, vectors, query_vector)
        if not len(candidates):
            return []
        scored = [
            self._scored(reading, gained, candidates, weights)
            for reading, gained in zip(texts, gains, strict=True)
        ]
        history = _history(texts[0], scored[0], scored.pop(), weights)
        forms = [form_of(need.text), *(REQUEST for _ in need.queries), form_of(_recent(need))]
        share = fusion.share_of(weights.dense, len(said[0].clauses))
        return self._fused(scored, history, gains, forms, candidates, weights, limit, meant, share)

    def _with_near(
        self, candidates: Ints, mask: Mask | None, vectors: Vectors, query_vector: Vector
    ) -> Ints:
        """Add the nearest in meaning where few were found by words among few that there are.

        Among many tools some share a word with nearly every message, and looking at all vectors
        would take too long.
        """
        allowed = np.flatnonzero(self.alive if mask is None else self.alive & mask)
        places = CANDIDATES - len(candidates)
        if places <= 0 or len(allowed) > SCANNED:
            return candidates
        others = np.setdiff1d(allowed, candidates, assume_unique=True)
        likeness = self._likeness(others, vectors, query_vector)
        near = np.argsort(-likeness, kind="stable")[:places]  # NaN is sorted last
        near = near[~np.isnan(likeness[near])]
        return np.asarray(np.union1d(candidates, others[near]), np.int32)

    def _likeness(self, slots: Ints, vectors: Vectors, query_vector: Vector) -> Vector:
        return vectors.likeness([self._ids[slot] for slot in slots.tolist()], query_vector)

    def reasons(self, text: str, document_id: str) -> dict[str, float]:
        """Return what makes a tool relevant to a text or not, in log-odds; for explanations."""
        return reasons(self.features(text, [document_id]))

    def features(self, text: str, ids: Sequence[str]) -> Floats:
        """Return what speaks for the relevance of tools to a text, a row of `COEFFICIENTS` each."""
        slots = np.array([self._slots[each] for each in ids], np.int32)
        gains = self._gains(_read(text), self.weights)
        return self._features(gains, form_of(text), slots, self.weights)

    def _gains(self, reading: Reading, weights: Weights, most: int | None = None) -> Gains:
        scheme = self._scheme(weights)
        rarest = self._postings.rarest_idf(scheme)

        def lead(terms: tuple[str, ...], idf: Floats) -> Floats:
            return leads(
                idf,
                np.array([term in reading.quoted for term in terms], np.bool_),
                rarest=rarest,
                rarity=weights.rarity,
                quoted=weights.quoted,
            )

        return self._postings.gains(reading.terms, scheme, lead=lead, most=most)

    def _scheme(self, weights: Weights) -> Scheme:
        return self._postings.scheme if weights == self.weights else _scheme(weights)

    def corrected(self, text: str, weights: Weights | None = None) -> dict[str, tuple[str, ...]]:
        """Return the terms of a text that no tool holds and are read as others."""
        return self._corrected(_read(text), weights or self.weights)

    def _corrected(self, reading: Reading, weights: Weights) -> dict[str, tuple[str, ...]]:
        if not weights.corrected:
            return {}
        known, holders = self._postings.vocabulary, self._postings.holders
        unknown = [
            term
            for term in reading.terms
            if term not in reading.quoted and (term not in known or not holders[known[term]])
        ]
        if not unknown:
            return {}
        if self._spelling is None:
            self._spelling = Spelling(known)
        words, names = words_of(reading.text), self._forward.names.arrays[1]
        found = {
            term: self._spelling.correct(term, words[term], holders, names)
            for term in unknown[:MOST_CORRECTED]
            if term in words
        }
        return {term: others for term, others in found.items() if others}

    def _spelt(self, reading: Reading, weights: Weights) -> Reading:
        """Return a text with the words that no tool holds read as others."""
        corrected = self._corrected(reading, weights)
        if not corrected:
            return reading

        def read_as(terms: dict[str, float]) -> dict[str, float]:
            read = {term: weight for term, weight in terms.items() if term not in corrected}
            for term in terms.keys() & corrected.keys():
                for other in corrected[term]:
                    read.setdefault(other, weights.corrected * terms[term])
            return read

        return replace(
            reading, terms=read_as(reading.terms), clauses=tuple(map(read_as, reading.clauses))
        )

    def _scored(
        self, reading: Reading, gains: Gains, candidates: Ints, weights: Weights
    ) -> _Scored:
        total = gains.total(candidates)
        most = float(total.max(initial=0.0))
        best = np.zeros(len(candidates))
        if reading.clauses:
            column = {term: number for number, term in enumerate(gains.terms)}
            clauses = (
                [column[term] for term in each if term in column] for each in reading.clauses
            )
            best = best_clause(gains.by_term(candidates), list(clauses))
        known = self._known(gains)

        def idf_of(terms: Ints) -> Floats:
            return self._idf_of(terms, weights)

        def weighed(weight: float, part: Callable[[Ints, Known, IdfOf], Floats]) -> Floats:
            if not weight or not gains.terms:
                return np.zeros(len(candidates))
            return weight * part(candidates, known, idf_of)

        covered = weighed(1.0, self._forward.coverage)
        return _Scored(
            text=total / most if most else total,
            coverage=weights.name_coverage * covered,
            clause=weights.clause * best / most if most else best,
            passage=weighed(weights.passage, self._forward.likeness_of_passages),
            limitations=weighed(weights.limitations, self._forward.likeness_of_limitations),
            covered=covered,
        )

    def _fused(
        self,
        scored: Sequence[_Scored],
        history: Floats,
        gains: Sequence[Gains],
        forms: Sequence[Form],
        candidates: Ints,
        weights: Weights,
        limit: int,
        meant: Vector | None,
        share: float,
    ) -> list[Ranked]:
        """Return the first candidates in order, each with its relevance, which falls in order."""
        totals = np.array([each.total for each in scored])
        factors = np.array([weights.quality, weights.health, weights.popularity])
        lifts = 1 + self._merit.values[candidates] * factors
        lift = lifts[:, 0] * lifts[:, 1] * lifts[:, 2]
        score = together(totals) + history
        if meant is not None:
            score = fusion.fuse(score, meant, share)
        score = score * lift
        most = max(limit, LOOKED_AT)
        order = first_of(score, lambda place: self._ids[candidates[place]], most)
        first = order[:LOOKED_AT]
        near = None if meant is None else meant[first]
        fit = self._relevance(gains, forms, candidates[first], weights, near)
        ranked = []
        for place, own in zip(order[:limit], spread(fit, score[order]), strict=False):
            told = scored[int(totals[:, place].argmax()) if len(scored) > 1 else 0]
            ranked.append(
                Ranked(
                    self._ids[candidates[place]],
                    round(float(own), 4),
                    {
                        "text": round(float(told.text[place]), 4),
                        "coverage": round(float(told.coverage[place]), 4),
                        "clause": round(float(told.clause[place]), 4),
                        "passage": round(float(told.passage[place]), 4),
                        "limitations": round(float(-told.limitations[place]), 4),
                        "history": round(float(history[place]), 4),
                        "factor": round(float(lift[place]), 4),
                        **_told(meant, place),
                    },
                )
            )
        return ranked

    def _relevance(
        self,
        gains: Sequence[Gains],
        forms: Sequence[Form],
        slots: Ints,
        weights: Weights,
        near: Vector | None,
    ) -> float:
        """Return how relevant the best of the slots are, for the text that they fit best.

        `near` is the likeness in meaning of each, NaN where it has no vector. What was said
        before counts where the message goes on from there.
        """
        own = [
            relevance(self._features(gained, form, slots, weights), near)
            for gained, form in zip(gains, forms, strict=True)
        ]
        earlier = FROM_HISTORY * own[-1] if forms[0].follows else 0.0
        return max(*own[:-1], earlier)

    def _features(self, gains: Gains, form: Form, slots: Ints, weights: Weights) -> Floats:
        by_term = np.zeros((len(slots), len(gains.terms)))
        coverage = np.zeros(len(slots))
        if gains.terms and len(slots):
            by_term = gains.by_term(slots) / gains.leads
            coverage = self._forward.coverage(
                slots, self._known(gains), lambda terms: self._idf_of(terms, weights)
            )
        return features(
            by_term,
            everyday(gains.terms),
            coverage,
            rarest=self._postings.rarest_idf(self._scheme(weights)),
            size=len(self),
            form=form,
        )

    def _known(self, gains: Gains) -> Known:
        return Known(gains.numbers, gains.idf, len(self._postings.holders))

    def _idf_of(self, terms: Ints, weights: Weights) -> Floats:
        idf = self._postings.idf_of(terms, self._scheme(weights))
        idf[self._postings.holders[terms] == 0] = self._unknown_idf(weights)
        return idf

    def _unknown_idf(self, weights: Weights) -> float:
        return UNKNOWN_TERM_SHARE * self._postings.rarest_idf(self._scheme(weights))


def _history(reading: Reading, own: _Scored, earlier: _Scored, weights: Weights) -> Floats:
    """Return what the earlier messages add, the more the less the message stands on its own."""
    total = earlier.total
    most = float(total.max(initial=0.0))
    if not most:
        return np.zeros_like(total)
    coverage = float(own.covered[own.total.argmax()])
    return weights.history * _reliance(reading, coverage) * total / most


def _reliance(reading: Reading, coverage: float = 0.0) -> float:
    """Return how much a text leans on earlier ones, at the most where no coverage is told."""
    return reliance(len(reading.terms), coverage, is_statement=reading.is_statement)


def _told(likeness: Vector | None, place: int) -> dict[str, float]:
    if likeness is None or np.isnan(likeness[place]):
        return {}
    return {"dense": round(float(likeness[place]), 4)}


def _recent(need: Need) -> str:
    return " ".join(need.recent)


@lru_cache(maxsize=64)
def _scheme(weights: Weights) -> Scheme:
    return Scheme(weights.of_texts, k1=weights.k1, b=weights.b)


@lru_cache(maxsize=256)
def _read(text: str) -> Reading:
    return read(text)
