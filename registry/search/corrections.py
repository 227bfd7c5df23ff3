"""Read the words of a text that no tool holds as others that some do."""

from collections.abc import Mapping
from dataclasses import replace

from registry.search.forward import Forward
from registry.search.need import Reading
from registry.search.postings import Postings
from registry.search.spelling import Spelling

MOST_CORRECTED = 8
"""Words of one text that are read as others; a text with more is in another language."""


class Corrections:
    """Corrects by the words of an index, as far as it has come."""

    def __init__(self, postings: Postings, forward: Forward) -> None:
        self._postings = postings
        self._forward = forward
        self._spelling: Spelling | None = None

    def of(self, reading: Reading) -> dict[str, tuple[str, ...]]:
        """Return the terms of a text that no tool holds and what they are read as."""
        known, holders = self._postings.vocabulary, self._postings.holders
        unknown = [
            term
            for term in reading.terms
            if (term not in known or not holders[known[term]]) and term not in reading.quoted
        ]
        if not unknown:
            return {}
        if self._spelling is None:
            self._spelling = Spelling(known)
        names = self._forward.names.arrays[1]
        words = reading.words
        found = {
            term: self._spelling.correct(term, words[term], holders, names)
            for term in unknown[:MOST_CORRECTED]
            if term in words
        }
        return {term: others for term, others in found.items() if others}

    def spelt(self, reading: Reading, weight: float) -> Reading:
        """Return a text with the words that no tool holds read as others, which count `weight`."""
        corrected = self.of(reading) if weight else {}
        return read_as(reading, corrected, weight) if corrected else reading


def read_as(reading: Reading, corrected: Mapping[str, tuple[str, ...]], weight: float) -> Reading:
    """Return a text with corrected words read as others, which count `weight`."""

    def mended(terms: Mapping[str, float]) -> dict[str, float]:
        kept = {term: count for term, count in terms.items() if term not in corrected}
        for term in terms.keys() & corrected.keys():
            for other in corrected[term]:
                kept.setdefault(other, weight * terms[term])
        return kept

    clauses = tuple(map(mended, reading.clauses))
    return replace(reading, terms=mended(reading.terms), clauses=clauses)
