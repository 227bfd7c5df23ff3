"""What the terms of a query add to the scores of documents."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from registry.search.bm25 import Floats, Ints

LARGE = 2_000
"""Postings of a piece from which it is added by itself; shorter ones are added together."""

_NO_SLOTS = np.zeros(0, np.int32)

Slots = NDArray[np.signedinteger[Any]]


class Piece(NamedTuple):
    """What one term adds, for an IDF of 1, to documents (some maybe gone) sorted by slot.

    `average` is the average length that it was computed for.
    """

    average: float
    slots: Slots
    gains: Floats

    @classmethod
    def of(cls, average: float, slots: Ints, gains: Floats) -> "Piece":
        """Return a piece; numpy reads many slots twice as fast as the numbers that it counts by."""
        return cls(average, slots.astype(np.intp) if len(slots) > LARGE else slots, gains)

    def added(self, slots: Ints) -> Floats:
        """Return what it adds to each of some documents."""
        places = self.slots.searchsorted(slots)
        is_held = self.slots.take(places, mode="clip") == slots
        added: Floats = self.gains.take(places, mode="clip") * is_held
        return added


class Term(NamedTuple):
    """A known term of a query: its pieces, IDF times weight, and whether it costs too much."""

    pieces: Sequence[Piece]
    factor: float
    is_left: bool


class Part(NamedTuple):
    """What one term of a query adds by itself: the number of the term, its factor, a piece."""

    column: int
    factor: float
    piece: Piece


class Gains(NamedTuple):
    """What the known terms of a query add to the scores of documents.

    `terms`, `numbers`, `idf` and `leads` belong together; `leads` are what the factors were
    multiplied by beside IDF and weight. A term adds `values[i]` to the document `slots[i]`; those
    of the first term, which end before `ends[0]`, come first. `large` are the parts too large to
    stand there. `scores` are the sums for each slot, those of documents that are gone included;
    `rest`, which would cost too much, is in no sum, but `by_term` and `of_few` tell of it.
    """

    terms: tuple[str, ...]
    numbers: NDArray[np.int64]
    idf: Floats
    leads: Floats
    ends: NDArray[np.int64]
    slots: Ints
    values: Floats
    scores: Floats
    large: Sequence[Part] = ()
    rest: Sequence[Part] = ()

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        numbers: NDArray[np.int64],
        idf: Floats,
        leads: Floats,
        terms: Sequence[Term],
        size: int,
    ) -> "Gains":
        """Return the sums of what terms add, for so many slots."""
        ends: list[int] = []
        small: list[Part] = []
        large: list[Part] = []
        rest: list[Part] = []
        end = 0
        for column, term in enumerate(terms):
            for piece in term.pieces:
                part = Part(column, term.factor, piece)
                if term.is_left:
                    rest.append(part)
                elif (length := len(piece.slots)) > LARGE:
                    large.append(part)
                else:
                    small.append(part)
                    end += length
            ends.append(end)
        slots = np.concatenate([_NO_SLOTS, *[part.piece.slots for part in small]])
        values = np.empty(end)
        start = 0
        for _, factor, piece in small:
            end = start + len(piece.gains)
            np.multiply(piece.gains, factor, out=values[start:end])
            start = end
        scores = np.zeros(size)
        np.add.at(scores, slots, values)
        for _, factor, piece in large:
            scores[piece.slots] += piece.gains * factor
        of_terms = np.array(ends, np.int64)
        return cls(tuple(names), numbers, idf, leads, of_terms, slots, values, scores, large, rest)

    def by_term(self, slots: Ints) -> Floats:
        """Return what each term (row) adds to each of some documents (columns), sorted by slot."""
        matrix = np.zeros((len(self.terms), len(slots)))
        if len(self.slots):
            is_wanted = np.zeros(len(self.scores), np.bool_)
            is_wanted[slots] = True
            hits = is_wanted.take(self.slots).nonzero()[0]
            columns = slots.searchsorted(self.slots.take(hits))
            matrix[self.ends.searchsorted(hits, side="right"), columns] = self.values.take(hits)
        for column, factor, piece in (*self.large, *self.rest):
            matrix[column] += factor * piece.added(slots)
        return matrix

    def total(self, slots: Ints) -> Floats:
        """Return what all terms but `rest` add to each of some documents."""
        total: Floats = self.scores[slots]
        return total

    def of_few(self, slots: Ints) -> Floats:
        """Return what each term (column) adds to each of a few documents (rows), in any order."""
        order = slots.argsort()
        added = np.empty((len(slots), len(self.terms)))
        added[order] = self.by_term(slots[order]).T
        return added
