"""One ranking: candidates by BM25, a closer look at them, their order and their relevance."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from registry.search.arrays import Growing
from registry.search.bm25 import Floats, Ints, Scheme
from registry.search.candidates import CANDIDATES, Mask, candidates_of, first_of
from registry.search.closely import Close, Known
from registry.search.corrections import Corrections, read_as
from registry.search.dense import fusion
from registry.search.dense.vectors import Vectors
from registry.search.form import REQUEST, Form, form_of, form_of_all, stands_alone
from registry.search.forward import Forward
from registry.search.gains import Gains
from registry.search.history import reliance
from registry.search.look import Earlier, Look, Text
from registry.search.need import Need, Reading, read, told_before
from registry.search.postings import Postings
from registry.search.ranked import Vector
from registry.search.relevance import LOOKED_AT, everyday, features, relevance
from registry.search.scored import Scored, ScoredBefore
from registry.search.scoring import leads, together
from registry.search.weights import Weights

SCANNED = 2_000
"""Tools among which the nearest in meaning are looked for where words find few."""

UNKNOWN_TERM_SHARE = 0.35
"""How much a query term that no document holds weighs against relevance, beside a term that one
document holds: it may be a name or a payload (`Tokyo`), or the very thing that no tool does."""

MOST_EARLIER = 10_000
"""Postings of earlier messages that score. Above, in large registries, the words that most tools
say add nothing; the relevance still counts them."""


class Index(NamedTuple):
    """What is ranked: documents by slot."""

    ids: list[str]
    postings: Postings
    forward: Forward
    merit: Growing
    corrections: Corrections


class Ranking:
    """What one need finds in an index, by one setting of the weights."""

    def __init__(self, index: Index, weights: Weights, scheme: Scheme) -> None:
        self._ids, self._postings, self._forward, self._merit, self._corrections = index
        self._weights = weights
        self._scheme = scheme
        self._rarest = self._postings.rarest_idf(scheme)

    def look(
        self,
        need: Need,
        *,
        mask: Mask | None,
        limit: int,
        vectors: Vectors | None,
        query_vector: Vector | None,
    ) -> Look | None:
        """Return what orders the candidates of a need; None where there are none."""
        said = [read_once(text) for text in (need.text, *need.queries)]
        forms = [form_of(need.text), *(REQUEST for _ in need.queries)]
        texts = [self._text(each, form) for each, form in zip(said, forms, strict=True)]
        before = self._before(need, said[0])
        candidates = candidates_of(
            self._postings,
            [text.gains for text in texts],
            None if before is None else before.gains,
            mask,
        )
        meant = None
        if vectors is not None and query_vector is not None and said[0].terms:
            candidates = self._with_near(candidates, mask, vectors, query_vector)
            meant = self._likeness(candidates, vectors, query_vector)
        if not len(candidates):
            return None
        close = Close(self._forward, candidates, self._idf_of)
        scored = [self._scored(text, close) for text in texts]
        before_scored = None if before is None else self._scored(before, close, ScoredBefore)
        earlier = self._history(texts[0].reading, scored[0], before_scored)
        share = fusion.share_of(self._weights.dense, len(said[0].clauses))
        words = together(np.array([each.total for each in scored])) + earlier.added
        lifts = self._lifts(candidates)
        score = words if meant is None else fusion.fuse(words, meant, share)
        score = score * (lifts[0] * lifts[1] * lifts[2])
        order = first_of(score, lambda place: self._ids[candidates[place]], max(limit, LOOKED_AT))
        first = np.array(order[:LOOKED_AT], np.int32)
        near = None if meant is None else meant[first]
        read_with = list(zip(texts, scored, strict=True))
        if before and before_scored and forms[0].follows:
            read_with.append((before, before_scored))
        return Look(
            need=need,
            weights=self._weights,
            texts=texts,
            candidates=candidates,
            scored=scored,
            before=before,
            before_scored=before_scored,
            earlier=earlier,
            meant=meant,
            share=share,
            words=words,
            lifts=lifts,
            score=score,
            order=order,
            fits=[relevance(self.features_of(text, each, first), near) for text, each in read_with],
        )

    def features(self, text: str, slots: Ints) -> Floats:
        """Return what speaks for the relevance of tools to a text, a row of `COEFFICIENTS` each."""
        said = self._text(read_once(text), form_of(text))
        in_order, places = np.unique(slots, return_inverse=True)  # as gains are read
        scored = self._scored(said, Close(self._forward, in_order, self._idf_of))
        return self.features_of(said, scored, places.astype(np.int32))

    def features_of(self, text: Text, scored: Scored, places: Ints) -> Floats:
        """Return what speaks for the relevance of the candidates in some places to a text."""
        gains = text.gains
        by_term = np.zeros((len(places), len(gains.terms)))
        covered = np.zeros(len(places))
        if gains.terms and len(places):
            by_term, covered = scored.gains_of(places) / gains.leads, scored.covered[places]
        return features(
            by_term,
            everyday(gains.terms),
            covered,
            rarest=self._rarest,
            size=len(self._postings),
            wanted=len(text.reading.terms),
            form=text.form,
        )

    def _text(self, reading: Reading, form: Form) -> Text:
        corrected = self._corrections.of(reading) if self._weights.corrected else {}
        if corrected:
            reading = read_as(reading, corrected, self._weights.corrected)
        return Text(reading, corrected, self._gains(reading), form)

    def _before(self, need: Need, said: Reading) -> Text | None:
        """Return the earlier messages as one text, where the message may lean on them."""
        if not (need.recent and self._weights.history and _reliance(said)):
            return None
        spelt = self._corrections.spelt
        said_before = [spelt(read_once(text), self._weights.corrected) for text in need.recent]
        reading = told_before(said_before)
        gains = self._gains(reading, MOST_EARLIER)
        return Text(reading, {}, gains, form_of_all(need.recent))

    def _gains(self, reading: Reading, most: int | None = None) -> Gains:
        def lead(terms: Sequence[str], idf: Floats) -> Floats:
            quoted = reading.quoted
            return leads(
                idf,
                np.array([term in quoted for term in terms], np.bool_) if quoted else None,
                rarest=self._rarest,
                rarity=self._weights.rarity,
                quoted=self._weights.quoted,
            )

        return self._postings.gains(reading.terms, self._scheme, lead=lead, most=most)

    def _scored(self, text: Text, close: Close, kind: type[Scored] = Scored) -> Scored:
        known = Known(text.gains.numbers, text.gains.idf, len(self._postings.holders))
        return kind(text.reading, text.gains, close, known, self._weights)

    def _history(self, reading: Reading, own: Scored, earlier: Scored | None) -> Earlier:
        """Return what the earlier messages add, the more the less the message stands alone."""
        nothing = np.zeros(len(own.total))
        if earlier is None:
            return Earlier(0.0, nothing)
        leaning = _reliance(reading, float(own.covered[own.total.argmax()]))
        most = float(earlier.total.max())
        if not leaning or not most:
            return Earlier(leaning, nothing)
        return Earlier(leaning, self._weights.history * leaning / most * earlier.total)

    def _lifts(self, slots: Ints) -> Floats:
        """Return what quality, health and popularity (rows) multiply each score by."""
        weights = self._weights
        merit = self._merit.values[slots].T
        factors = np.array([[weights.quality], [weights.health], [weights.popularity]])
        lifts: Floats = 1 + merit * factors
        return lifts

    def _with_near(
        self, candidates: Ints, mask: Mask | None, vectors: Vectors, query_vector: Vector
    ) -> Ints:
        """Add the nearest in meaning where few were found by words among few that there are.

        Among many tools some share a word with nearly every message, and looking at all vectors
        would take too long.
        """
        places = CANDIDATES - len(candidates)
        if places <= 0:
            return candidates
        alive = self._postings.alive
        allowed = np.flatnonzero(alive if mask is None else alive & mask)
        if len(allowed) > SCANNED:
            return candidates
        others = np.setdiff1d(allowed, candidates, assume_unique=True)
        likeness = self._likeness(others, vectors, query_vector)
        near = np.argsort(-likeness, kind="stable")[:places]  # NaN is sorted last
        near = near[~np.isnan(likeness[near])]
        return np.asarray(np.union1d(candidates, others[near]), np.int32)

    def _likeness(self, slots: Ints, vectors: Vectors, query_vector: Vector) -> Vector:
        return vectors.likeness([self._ids[slot] for slot in slots.tolist()], query_vector)

    def _idf_of(self, terms: Ints) -> Floats:
        idf = self._postings.idf_of(terms, self._scheme)
        is_unknown = self._postings.holders[terms] == 0
        if is_unknown.any():
            idf[is_unknown] = UNKNOWN_TERM_SHARE * self._rarest
        return idf


def _reliance(reading: Reading, coverage: float = 0.0) -> float:
    """Return how much a text leans on earlier ones, at the most where no coverage is told."""
    if stands_alone(reading.text):
        return 0.0
    return reliance(len(reading.terms), coverage, is_statement=reading.is_statement)


@lru_cache(maxsize=512)
def read_once(text: str) -> Reading:
    """Return how a text is read; in a conversation it comes back as an earlier message."""
    return read(text)
