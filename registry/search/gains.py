"""What the terms of a query add to the scores of documents."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from registry.search.bm25 import Floats, Ints

_NO_SLOTS = np.zeros(0, np.int32)


class Piece(NamedTuple):
    """What one term adds, for an IDF of 1, to documents (some maybe gone) sorted by slot.

    `average` is the average length that it was computed for.
    """

    average: float
    slots: Ints
    gains: Floats

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


class Gains(NamedTuple):
    """What the known terms of a query add to the scores of documents.

    `terms`, `numbers`, `idf` and `leads` belong together; `leads` are what the factors were
    multiplied by beside IDF and weight. A term adds `values[i]` to the document `slots[i]`; those
    of the first term, which end before `ends[0]`, come first. `scores` are the sums for each slot,
    those of documents that are gone included. Terms that cost too much (`rest`: column, factor
    and piece) stand in no array.
    """

    terms: tuple[str, ...]
    numbers: NDArray[np.int64]
    idf: Floats
    leads: Floats
    ends: NDArray[np.int64]
    slots: Ints
    values: Floats
    scores: Floats
    rest: Sequence[tuple[int, float, Piece]] = ()

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
        pieces: list[Piece] = []
        scales: list[float] = []
        rest: list[tuple[int, float, Piece]] = []
        end = 0
        for column, term in enumerate(terms):
            for piece in term.pieces:
                if term.is_left:
                    rest.append((column, term.factor, piece))
                else:
                    pieces.append(piece)
                    scales.append(term.factor)
                    end += len(piece.slots)
            ends.append(end)
        slots = np.concatenate([_NO_SLOTS, *[piece.slots for piece in pieces]])
        values = np.empty(end)
        start = 0
        for piece, scale in zip(pieces, scales, strict=True):
            end = start + len(piece.gains)
            np.multiply(piece.gains, scale, out=values[start:end])
            start = end
        scores = np.zeros(size)
        np.add.at(scores, slots, values)
        return cls(
            tuple(names), numbers, idf, leads, np.array(ends, np.int64), slots, values, scores, rest
        )

    def by_term(self, slots: Ints) -> Floats:
        """Return what each term (row) adds to each of some documents (columns)."""
        matrix = np.zeros((len(self.terms), len(slots)))
        places = np.full(len(self.scores), -1, np.int32)
        places[slots] = np.arange(len(slots))
        found = places[self.slots]
        hits = (found >= 0).nonzero()[0]
        matrix[self.ends.searchsorted(hits, side="right"), found[hits]] = self.values[hits]
        for column, factor, piece in self.rest:
            matrix[column] += factor * piece.added(slots)
        return matrix

    def total(self, slots: Ints) -> Floats:
        """Return what all terms add to each of some documents."""
        total: Floats = self.scores[slots]
        for _, factor, piece in self.rest:
            total += factor * piece.added(slots)
        return total
