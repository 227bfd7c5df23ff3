"""The close look at candidates: what their names, examples and limitations share with a text.

What depends on the candidates alone is read once for all texts of a need.
"""

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from registry.search.arrays import Array, Ragged
from registry.search.bm25 import Floats, Ints
from registry.search.forward import Forward

IdfOf = Callable[[Ints], Floats]


class Known:
    """The known terms of a query, by number, each with its IDF."""

    def __init__(self, numbers: NDArray[np.int64], idf: Floats, vocabulary: int) -> None:
        self._columns = np.zeros(vocabulary, np.uint16)
        self._columns[numbers] = np.arange(1, len(numbers) + 1)
        self._idf = np.append(0.0, idf)
        self.all = float(idf.sum())

    def idf_where_said(self, terms: Ints) -> Floats:
        """Return the IDF of each term that the query says, 0 of others."""
        return np.asarray(self._idf[self._columns[terms]])


class _Rows(NamedTuple):
    """Rows of terms that are not empty: which they are, where each starts, the IDF of each."""

    size: int
    filled: Array
    starts: Array
    terms: Ints
    own: Floats

    @classmethod
    def of(cls, rows: Ragged, numbers: Array, idf_of: IdfOf) -> "_Rows":
        terms, lengths = rows.rows(numbers)
        filled = lengths.nonzero()[0]
        if not len(filled):
            return cls(len(numbers), filled, filled, terms, np.zeros(0))
        if len(filled) < len(lengths):
            lengths = lengths[filled]
        starts = lengths.cumsum() - lengths
        own = np.add.reduceat(idf_of(terms), starts)
        return cls(len(numbers), filled, starts, terms, own)

    def shares(self, known: Known, *, cosine: bool) -> Floats:
        """Return which share of the IDF of each row a query says, or how like it the row is.

        Equal rows have equal shares to the last bit, which differences of a running sum have not.
        """
        shares = np.zeros(self.size)
        if len(self.filled):
            common = np.add.reduceat(known.idf_where_said(self.terms), self.starts)
            whole = np.sqrt(self.own * known.all) if cosine else self.own
            shares[self.filled] = np.divide(
                common, whole, out=np.zeros_like(common), where=common > 0
            )
        return shares


class Close:
    """Candidates, looked at closely. What no text asks for is not read."""

    def __init__(self, forward: Forward, slots: Ints, idf_of: IdfOf) -> None:
        self.slots = slots
        self._forward = forward
        self._idf_of = idf_of

    def coverage(self, known: Known) -> Floats:
        """Return which share of the IDF of each name the query says."""
        return self._names.shares(known, cosine=False)

    def likeness_of_limitations(self, known: Known) -> Floats:
        """Return how like the query what each document says it cannot do is, as a cosine."""
        return self._limitations.shares(known, cosine=True)

    def likeness_of_passages(self, known: Known) -> Floats:
        """Return how like the query the example of each document is that is most like it."""
        rows, owners, starts = self._passages
        best = np.zeros(len(self.slots))
        if len(owners):
            best[owners] = np.maximum.reduceat(rows.shares(known, cosine=True), starts)
        return best

    @cached_property
    def _names(self) -> _Rows:
        return _Rows.of(self._forward.names, self.slots, self._idf_of)

    @cached_property
    def _limitations(self) -> _Rows:
        return _Rows.of(self._forward.limitations, self.slots, self._idf_of)

    @cached_property
    def _passages(self) -> tuple[_Rows, Array, Array]:
        """Return the examples of all, who has some, and where those of each start."""
        numbers, owners, starts = self._forward.passages_of(self.slots)
        return _Rows.of(self._forward.passages, numbers, self._idf_of), owners, starts
