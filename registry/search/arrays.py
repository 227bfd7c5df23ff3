"""Arrays that grow at their end."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from registry.search.bm25 import Ints

Array = NDArray[Any]


class Growing:
    """An array that takes more rows without being copied each time.

    What it is made of is not written to before it has grown, so it may be mapped from a file.
    """

    def __init__(self, values: Array) -> None:
        self._room = values
        self._length = len(values)

    def __len__(self) -> int:
        return self._length

    @property
    def values(self) -> Array:
        """Return what is held; a view."""
        return self._room[: self._length]

    def extend(self, values: Array) -> None:
        """Add rows at the end."""
        end = self._length + len(values)
        if end > len(self._room) or not self._room.flags.writeable:
            room = np.zeros((max(end + end // 4, 64), *self._room.shape[1:]), self._room.dtype)
            room[: self._length] = self.values
            self._room = room
        self._room[self._length : end] = values
        self._length = end

    def write(self, number: int, row: Any) -> None:
        """Replace a row."""
        if not self._room.flags.writeable:
            self._room = self._room.copy()
        self._room[number] = row


class Ragged:
    """Rows of numbers, each of its own length, one behind the other."""

    def __init__(self, starts: Array | None = None, values: Ints | None = None) -> None:
        self._starts = Growing(np.zeros(1, np.int64) if starts is None else starts)
        self._values = Growing(np.zeros(0, np.int32) if values is None else values)

    @classmethod
    def of(cls, lengths: Array, values: Ints) -> "Ragged":
        """Return rows of such lengths."""
        return cls(starts_of(lengths), values)

    def __len__(self) -> int:
        return len(self._starts) - 1

    @property
    def arrays(self) -> tuple[Array, Ints]:
        """Return where each row starts (and the last one ends), and the values of all."""
        return self._starts.values, self._values.values

    def append(self, row: Sequence[int] | Iterable[int]) -> None:
        """Add a row."""
        values = np.fromiter(row, np.int32)
        self._values.extend(values)
        self._starts.extend(np.array([len(self._values)]))

    def row(self, number: int) -> Ints:
        """Return one row."""
        starts, values = self.arrays
        return values[starts[number] : starts[number + 1]]

    def rows(self, numbers: Array) -> tuple[Ints, Array]:
        """Return the values of some rows, and the length of each of them."""
        starts, values = self.arrays
        begins = starts[numbers]
        lengths = starts[numbers + 1] - begins
        return values[spread(begins, lengths)], lengths

    def kept(self, numbers: Array) -> "Ragged":
        """Return some rows alone."""
        values, lengths = self.rows(numbers)
        return Ragged.of(lengths, values)


def starts_of(lengths: Array) -> Array:
    """Return where rows of such lengths start, and where the last one ends."""
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def spread(begins: Array, lengths: Array) -> Array:
    """Return `begin, begin + 1, …` for each begin, as many as its length, one behind the other."""
    if not len(lengths):
        return np.zeros(0, np.int64)
    ends = lengths.cumsum()
    return np.asarray(np.arange(ends[-1]) + (begins - (ends - lengths)).repeat(lengths))
