"""What each document is looked at closely by: the terms of its name, examples and limitations."""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from registry.search.arrays import Array, Growing, Ragged, spread, sums_of
from registry.search.bm25 import Floats, Ints

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


class Forward:
    """Rows of distinct terms, in the order of their numbers, by slot."""

    def __init__(
        self,
        names: Ragged | None = None,
        limitations: Ragged | None = None,
        passages: Ragged | None = None,
        first_passages: Array | None = None,
    ) -> None:
        self.names = names or Ragged()
        self.limitations = limitations or Ragged()
        self.passages = passages or Ragged()
        self.first_passages = Growing(
            np.zeros(1, np.int64) if first_passages is None else first_passages
        )

    def append(
        self, name: Iterable[int], passages: Iterable[Iterable[int]], limitations: Iterable[int]
    ) -> None:
        """Add a document."""
        self.names.append(sorted(set(name)))
        for passage in passages:
            self.passages.append(sorted(set(passage)))
        self.limitations.append(sorted(set(limitations)))
        self.first_passages.extend(np.array([len(self.passages)]))

    def coverage(self, slots: Ints, known: Known, idf_of: IdfOf) -> Floats:
        """Return which share of the IDF of each name the query says."""
        common, own = _weighed(self.names, slots, known, idf_of)
        return np.divide(common, own, out=np.zeros_like(own), where=common > 0)

    def likeness_of_limitations(self, slots: Ints, known: Known, idf_of: IdfOf) -> Floats:
        """Return how like the query what each document says it cannot do is, as a cosine."""
        return _cosine(self.limitations, slots, known, idf_of)

    def likeness_of_passages(self, slots: Ints, known: Known, idf_of: IdfOf) -> Floats:
        """Return how like the query the example of each document is that is most like it."""
        first = self.first_passages.values
        begins, ends = first[slots], first[slots + 1]
        best = np.zeros(len(slots))
        owners = np.flatnonzero(ends > begins)
        if len(owners):
            lengths = (ends - begins)[owners]
            numbers = spread(begins[owners], lengths)
            likeness = _cosine(self.passages, numbers, known, idf_of)
            starts = np.cumsum(lengths) - lengths
            best[owners] = np.maximum.reduceat(likeness, starts)
        return best


def _weighed(rows: Ragged, numbers: Array, known: Known, idf_of: IdfOf) -> tuple[Floats, Floats]:
    """Return the IDF that each row has in common with the query, and all of its own."""
    terms, lengths = rows.rows(numbers)
    if not len(terms):
        return np.zeros(len(numbers)), np.zeros(len(numbers))
    return sums_of(lengths, known.idf_where_said(terms)), sums_of(lengths, idf_of(terms))


def _cosine(rows: Ragged, numbers: Array, known: Known, idf_of: IdfOf) -> Floats:
    common, own = _weighed(rows, numbers, known, idf_of)
    norm = np.sqrt(own * known.all)
    return np.divide(common, norm, out=np.zeros_like(norm), where=common > 0)
