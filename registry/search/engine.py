"""Rank tools for a need: BM25 finds candidates, a closer look orders them.

The recipe and its figures stand in `docs/reference/search-ranking.md`.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from registry.search.arrays import Array, Growing
from registry.search.bm25 import Floats, Ints, Scheme
from registry.search.candidates import Mask
from registry.search.corrections import Corrections
from registry.search.dense.vectors import Vectors
from registry.search.document import SearchDocument, terms_of
from registry.search.kept import Kept, merit_of
from registry.search.look import Look, Text
from registry.search.need import Need
from registry.search.postings import Postings
from registry.search.ranked import Ranked, Vector, ranked
from registry.search.ranking import Index, Ranking, read_once
from registry.search.scored import Scored
from registry.search.tokens import tokenize
from registry.search.weights import Weights

__all__ = ["Engine", "Ranked"]

LENGTH_DRIFT = 1e-3
"""By how much the average length may be off, as a share, before gains are computed anew."""


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
        self._corrections = Corrections(self._postings, self._forward)

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
        look = self.look(
            need,
            weights=weights,
            mask=mask,
            limit=limit,
            vectors=vectors,
            query_vector=query_vector,
        )
        return [] if look is None else self.ranked(look, limit)

    def look(
        self,
        need: Need,
        *,
        weights: Weights | None = None,
        mask: Mask | None = None,
        limit: int = 50,
        vectors: Vectors | None = None,
        query_vector: Vector | None = None,
    ) -> Look | None:
        """Return what a ranking is computed from; None where nothing is found."""
        return self._ranking(weights).look(
            need, mask=mask, limit=limit, vectors=vectors, query_vector=query_vector
        )

    def ranked(self, look: Look, limit: int) -> list[Ranked]:
        """Return the first candidates in order, each with its relevance, which falls in order."""
        return ranked(look, self._ids, limit)

    def features(self, text: str, ids: Sequence[str]) -> Floats:
        """Return what speaks for the relevance of tools to a text, a row of `COEFFICIENTS` each."""
        slots = np.array([self._slots[each] for each in ids], np.int32)
        return self._ranking(None).features(text, slots)

    def features_of(self, look: Look, text: Text, scored: Scored) -> Floats:
        """Return what speaks for the relevance of the best to one text of a look."""
        return self._ranking(look.weights).features_of(text, scored, look.first)

    def adopt(self, weights: Weights) -> None:
        """Rank by other weights from now on, as quickly as by those before."""
        if weights != self.weights:
            self.weights = weights
            self._postings.adopt(_scheme(weights))

    def counts(self, term: str, slot: int) -> Sequence[int]:
        """Return how often each text of a tool says a term, in the order of `FIELDS`."""
        return self._postings.counts(term, slot)

    def corrected(self, text: str, weights: Weights | None = None) -> dict[str, tuple[str, ...]]:
        """Return the terms of a text that no tool holds and are read as others."""
        weights = weights or self.weights
        return self._corrections.of(read_once(text)) if weights.corrected else {}

    def _ranking(self, weights: Weights | None) -> Ranking:
        own, scheme = self.weights, self._postings.scheme
        if weights is None or weights is own or weights == own:
            weights = own
        else:
            scheme = _scheme(weights)
        index = Index(self._ids, self._postings, self._forward, self._merit, self._corrections)
        return Ranking(index, weights, scheme)


@lru_cache(maxsize=64)
def _scheme(weights: Weights) -> Scheme:
    return Scheme(weights.of_texts, k1=weights.k1, b=weights.b)
