"""All that an index of postings keeps, as plain arrays."""

from array import array
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from registry.search.arrays import Array, Ragged, starts_of
from registry.search.bm25 import Ints

Rows = NDArray[np.uint8]


class Base(NamedTuple):
    """Postings by term: those of term `t` are `starts[t]:starts[t + 1]`, sorted by slot.

    `rows` are the counts by field.
    """

    starts: Array
    slots: Ints
    rows: Rows

    @classmethod
    def empty(cls, width: int) -> "Base":
        """Return no postings."""
        return cls(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros((0, width), np.uint8))

    def of(self, number: int) -> tuple[Ints, Rows]:
        """Return slots and counts of a term."""
        if number + 1 >= len(self.starts):
            return self.slots[:0], self.rows[:0]
        part = slice(self.starts[number], self.starts[number + 1])
        return self.slots[part], self.rows[part]


class State(NamedTuple):
    """All that an index keeps: the number of each term, the base, how many documents hold each
    term; and by slot: whether it is there, its lengths by field, its terms.
    """

    vocabulary: dict[str, int]
    base: Base
    holders: Ints
    alive: NDArray[np.bool_]
    lengths: Ints
    terms: Ragged

    @classmethod
    def empty(cls, width: int) -> "State":
        """Return what an index without documents keeps."""
        none = np.zeros(0, np.int32)
        return cls(
            {},
            Base.empty(width),
            none,
            none.astype(np.bool_),
            np.zeros((0, width), np.int32),
            Ragged(),
        )


class _List(NamedTuple):
    """Postings of one term by slot, the counts one behind the other."""

    slots: "array[int]"
    rows: bytearray


class Late:
    """Postings that came after a base, in short lists by term."""

    def __init__(self, width: int) -> None:
        self._lists: dict[int, _List] = {}
        self._width = width

    def __contains__(self, number: int) -> bool:
        return number in self._lists

    def append(self, slot: int, counts: Iterable[tuple[int, bytearray]]) -> None:
        """Add a document in a slot above all others, by the counts of its terms."""
        for number, row in counts:
            known = self._lists.get(number)
            if known is None:
                known = self._lists[number] = _List(array("i"), bytearray())
            known.slots.append(slot)
            known.rows.extend(row)

    def of(self, number: int) -> tuple[Ints, Rows]:
        """Return slots and counts of a term."""
        known = self._lists.get(number, _List(array("i"), bytearray()))
        # copies, because a buffer that is looked into cannot grow
        rows = np.frombuffer(bytes(known.rows), np.uint8)
        return np.array(known.slots, np.int32), rows.reshape(-1, self._width)

    def joined(self, base: Base, alive: NDArray[np.bool_], terms: int) -> Base:
        """Return the postings of all that are there as one base, for so many terms."""
        starts, slots, rows = base
        numbers = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
        late_slots, late_rows = array("i"), bytearray()
        for each in self._lists.values():
            late_slots.extend(each.slots)
            late_rows.extend(each.rows)
        counts = [len(each.slots) for each in self._lists.values()]
        late_numbers = np.repeat(np.fromiter(self._lists, np.int32), counts)
        numbers = np.concatenate([numbers, late_numbers])
        slots = np.concatenate([slots, np.array(late_slots, np.int32)])
        rows = np.concatenate([rows, np.frombuffer(late_rows, np.uint8).reshape(-1, self._width)])
        kept = np.flatnonzero(alive[slots])
        # slots of a term stay in order: the base comes first, and what is late came in order
        order = kept[np.argsort(numbers[kept], kind="stable")]
        lengths = np.bincount(numbers[kept], minlength=terms)
        return Base(starts_of(lengths), slots[order], rows[order])
