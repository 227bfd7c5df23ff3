"""One ranking: candidates by BM25, a closer look at them, their order and their relevance."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from registry.search.arrays import Growing
from registry.search.bm25 import Floats, Ints, Scheme
from registry.search.candidates import CANDIDATES, Mask, candidates_of, first_of
from registry.search.closely import Close, Known
from registry.search.corrections import Corrections
from registry.search.dense import fusion
from registry.search.dense.vectors import Vectors
from registry.search.form import REQUEST, form_of
from registry.search.forward import Forward
from registry.search.gains import Gains
from registry.search.history import reliance
from registry.search.need import Need, Reading, read, told_before
from registry.search.postings import Postings
from registry.search.ranked import Ranked, Vector, parts_of, told_of
from registry.search.relevance import (
    COEFFICIENTS,
    FROM_HISTORY,
    LOOKED_AT,
    everyday,
    features,
    relevance,
    spread,
)
from registry.search.scored import Scored
from registry.search.scoring import leads, together
from registry.search.weights import Weights

SCANNED = 2_000
"""Tools among which the nearest in meaning are looked for where words find few."""

UNKNOWN_TERM_SHARE = 0.35
"""How much a query term that no document holds weighs against relevance, beside a term that one
document holds: it may be a name or a payload (`Tokyo`), or the very thing that no tool does."""

MOST_EARLIER = 50_000
"""Postings of earlier messages that choose candidates. Above, in large registries, the words that
most tools say choose none; they are still scored."""


class Index(NamedTuple):
    """What is ranked: documents by slot."""

    ids: list[str]
    postings: Postings
    forward: Forward
    merit: Growing
    corrections: Corrections


class _Text(NamedTuple):
    """One text of a need, and what its terms add."""

    reading: Reading
    gains: Gains


class Ranking:
    """What one need finds in an index, by one setting of the weights."""

    def __init__(self, index: Index, weights: Weights, scheme: Scheme) -> None:
        self._ids, self._postings, self._forward, self._merit, self._corrections = index
        self._weights = weights
        self._scheme = scheme
        self._rarest = self._postings.rarest_idf(scheme)

    def of(
        self,
        need: Need,
        *,
        mask: Mask | None,
        limit: int,
        vectors: Vectors | None,
        query_vector: Vector | None,
    ) -> list[Ranked]:
        """Return the best, the best first; equals in the order of their ids."""
        said = [read_once(text) for text in (need.text, *need.queries)]
        texts = [self._text(reading) for reading in said]
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
            return []
        close = Close(self._forward, candidates, self._idf_of)
        scored = [self._scored(text, close) for text in texts]
        earlier = None if before is None else self._scored(before, close)
        history = self._history(texts[0].reading, scored[0], earlier)
        share = fusion.share_of(self._weights.dense, len(said[0].clauses))

        totals = np.array([each.total for each in scored])
        lift = self._lift(candidates)
        score = together(totals) + history
        if meant is not None:
            score = fusion.fuse(score, meant, share)
        score = score * lift
        order = first_of(score, lambda place: self._ids[candidates[place]], max(limit, LOOKED_AT))
        fit = self._relevance(need, scored, earlier, np.array(order[:LOOKED_AT], np.int32))
        if meant is not None and order:
            fit = max(fit, fusion.near(float(meant[order[0]])))
        return [
            Ranked(
                self._ids[candidates[place]],
                round(own, 4),
                {
                    **parts_of(
                        scored[int(totals[:, place].argmax()) if len(scored) > 1 else 0], place
                    ),
                    "history": round(float(history[place]), 4),
                    "factor": round(float(lift[place]), 4),
                    **told_of(meant, place),
                },
            )
            for place, own in zip(order[:limit], spread(fit, score[order]).tolist(), strict=False)
        ]

    def features(self, text: str, slots: Ints) -> Floats:
        """Return what speaks for the relevance of tools to a text, a row of `COEFFICIENTS` each."""
        reading = read_once(text)
        gains = self._gains(reading)
        scored = self._scored(_Text(reading, gains), Close(self._forward, slots, self._idf_of))
        return self._features(scored, text, np.arange(len(slots), dtype=np.int32))

    def _text(self, reading: Reading) -> _Text:
        reading = self._spelt(reading)
        return _Text(reading, self._gains(reading))

    def _spelt(self, reading: Reading) -> Reading:
        return self._corrections.spelt(reading, self._weights.corrected)

    def _before(self, need: Need, said: Reading) -> _Text | None:
        """Return the earlier messages as one text, where the message may lean on them."""
        if not (need.recent and self._weights.history and _reliance(said)):
            return None
        reading = told_before([self._spelt(read_once(text)) for text in need.recent])
        return _Text(reading, self._gains(reading, MOST_EARLIER))

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

    def _scored(self, text: _Text, close: Close) -> Scored:
        known = Known(text.gains.numbers, text.gains.idf, len(self._postings.holders))
        return Scored(text.reading, text.gains, close, known, self._weights)

    def _history(self, reading: Reading, own: Scored, earlier: Scored | None) -> Floats:
        """Return what the earlier messages add, the more the less the message stands alone."""
        nothing = np.zeros(len(own.total))
        if earlier is None:
            return nothing
        leaning = _reliance(reading, float(own.covered[own.total.argmax()]))
        if not leaning:
            return nothing
        most = float(earlier.total.max())
        return self._weights.history * leaning / most * earlier.total if most else nothing

    def _lift(self, slots: Ints) -> Floats:
        weights = self._weights
        merit = self._merit.values[slots].T
        lift: Floats = 1 + merit[0] * weights.quality
        lift *= 1 + merit[1] * weights.health
        lift *= 1 + merit[2] * weights.popularity
        return lift

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

    def _relevance(
        self, need: Need, scored: Sequence[Scored], earlier: Scored | None, places: Ints
    ) -> float:
        """Return how relevant the best are, for the text that they fit best.

        What was said before counts where the message goes on from there.
        """
        texts = (need.text, *need.queries)
        own = max(
            relevance(self._features(each, text, places, is_query=number > 0))
            for number, (each, text) in enumerate(zip(scored, texts, strict=True))
        )
        if earlier is None or not form_of(need.text).follows:
            return own
        recent = " ".join(need.recent)
        return max(own, FROM_HISTORY * relevance(self._features(earlier, recent, places)))

    def _features(
        self, scored: Scored, text: str, places: Ints, *, is_query: bool = False
    ) -> Floats:
        gains = scored.gains
        if not gains.terms or not len(places):
            return np.zeros((0, len(COEFFICIENTS)))
        return features(
            scored.gains_of(places) / gains.leads,
            everyday(gains.terms),
            scored.covered[places],
            rarest=self._rarest,
            size=len(self._postings),
            form=REQUEST if is_query else form_of(text),
        )

    def _idf_of(self, terms: Ints) -> Floats:
        idf = self._postings.idf_of(terms, self._scheme)
        is_unknown = self._postings.holders[terms] == 0
        if is_unknown.any():
            idf[is_unknown] = UNKNOWN_TERM_SHARE * self._rarest
        return idf


def _reliance(reading: Reading, coverage: float = 0.0) -> float:
    """Return how much a text leans on earlier ones, at the most where no coverage is told."""
    return reliance(len(reading.terms), coverage, is_statement=reading.is_statement)


@lru_cache(maxsize=512)
def read_once(text: str) -> Reading:
    """Return how a text is read; in a conversation it comes back as an earlier message."""
    return read(text)
