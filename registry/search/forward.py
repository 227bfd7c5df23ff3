"""What each document is looked at closely by: the terms of its name, examples and limitations."""

from collections.abc import Iterable

import numpy as np

from registry.search.arrays import Array, Growing, Ragged, spread
from registry.search.bm25 import Ints


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

    def passages_of(self, slots: Ints) -> tuple[Array, Array, Array]:
        """Return the numbers of the passages of some documents, who of them has some, and where
        those of each of these start.
        """
        first = self.first_passages.values
        begins = first[slots]
        lengths = first[slots + 1] - begins
        owners = lengths.nonzero()[0]
        begins, lengths = begins[owners], lengths[owners]
        return spread(begins, lengths), owners, lengths.cumsum() - lengths
