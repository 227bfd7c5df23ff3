"""Which document holds which term how often in which field.

Only counts are stored, each field's apart; all that an update would change for every document
(IDF, average length), and all that a weight changes, is computed when a query asks. Most postings
lie in arrays sorted by term and slot that never change; what came later lies in short lists by
term, until `merged` makes arrays of both.
"""

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from registry.search.arrays import Array, Growing, Ragged, starts_of
from registry.search.bm25 import Floats, Ints, Scheme

MOST_COUNTED = 255
"""How often a word of a field counts at the most; more is a list or an attack."""

MOST_CACHED = 4_000_000
"""Gains that are kept for the next query: 32 MB. Above, all are computed anew."""

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


class _Late(NamedTuple):
    """Postings of one term that came after the base, by slot, the counts one behind the other."""

    slots: "array[int]"
    rows: bytearray


class _Cached(NamedTuple):
    average: float
    gains: Floats


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


class Piece(NamedTuple):
    """What one term adds, before its factor, to documents (some maybe gone) sorted by slot."""

    column: int
    slots: Ints
    gains: Floats


class Gains(NamedTuple):
    """What the known terms of a query add to the scores of documents.

    `terms`, `numbers`, `idf` and `factors` (IDF times weight in the query) belong together; each
    term has up to two pieces.
    """

    terms: tuple[str, ...]
    numbers: NDArray[np.int64]
    idf: Floats
    factors: Floats
    pieces: tuple[Piece, ...]

    def by_term(self, slots: Ints) -> Floats:
        """Return what each term (column) adds to each of some documents (rows), sorted slots."""
        matrix = np.zeros((len(self.terms), len(slots)))
        for column, held, gains in self.pieces:
            places = held.searchsorted(slots)
            found = gains.take(places, mode="clip")
            found *= held.take(places, mode="clip") == slots
            matrix[column] += found
        matrix *= self.factors[:, None]
        return matrix.T


class Postings:
    """An index of documents that come and go.

    Documents are known by slots, small integers that are given once and never again.
    Gains that are cached may be off by the relative `drift` of the average length.
    Not safe for concurrent use with writes.
    """

    def __init__(self, scheme: Scheme, *, drift: float = 0.0, state: State | None = None) -> None:
        state = state or State.empty(len(scheme.fields))
        self.scheme = scheme
        self.drift = drift
        self.vocabulary = state.vocabulary
        self.base = state.base
        self._late: dict[int, _Late] = {}
        # these two are written to in place, so they may not be those of a file
        self._holders = Growing(np.array(state.holders))
        self._alive = Growing(np.array(state.alive))
        self._lengths = Growing(state.lengths)
        self._terms = state.terms
        self._sums = state.lengths[state.alive].sum(axis=0, dtype=np.int64)
        self._living = int(state.alive.sum())
        self._first_late = len(state.alive)
        self._cache: dict[int, _Cached] = {}
        self._cached = 0

    def __len__(self) -> int:
        return self._living

    @property
    def size(self) -> int:
        """Return how many slots were given, those of documents that are gone included."""
        return len(self._alive)

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Return, for each slot, whether its document is there."""
        return self._alive.values

    @property
    def holders(self) -> Ints:
        """Return how many documents hold each term."""
        return self._holders.values

    @property
    def slack(self) -> int:
        """Return how many documents came after the base or are gone."""
        return self.size - int(self.alive[: self._first_late].sum())

    @property
    def state(self) -> State:
        """Return all that is kept, the slots as they are. Costs what `merged` does."""
        return State(
            self.vocabulary,
            self.merged(),
            self.holders,
            self.alive,
            self._lengths.values,
            self._terms,
        )

    def merged(self) -> Base:
        """Return the postings of all that are there as one base; 0.2 s for 100,000 documents.

        Searches may go on meanwhile, writes must wait.
        """
        starts, slots, rows = self.base
        if not self.slack:
            return self.base
        terms = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
        late_slots, late_rows = array("i"), bytearray()
        for late in self._late.values():
            late_slots.extend(late.slots)
            late_rows.extend(late.rows)
        counts = [len(late.slots) for late in self._late.values()]
        late_terms = np.repeat(np.fromiter(self._late, np.int32), counts)
        terms = np.concatenate([terms, late_terms])
        slots = np.concatenate([slots, np.array(late_slots, np.int32)])
        rows = np.concatenate([rows, np.frombuffer(late_rows, np.uint8).reshape(-1, rows.shape[1])])
        kept = np.flatnonzero(self.alive[slots])
        # slots of a term stay in order: the base comes first, and what is late came in order
        order = kept[np.argsort(terms[kept], kind="stable")]
        lengths = np.bincount(terms[kept], minlength=len(self.vocabulary))
        return Base(starts_of(lengths), slots[order], rows[order])

    def numbers(self, terms: Sequence[str]) -> list[int]:
        """Return the number of each term, given now to those that had none."""
        known = self.vocabulary
        numbers = [known.setdefault(term, len(known)) for term in terms]
        if len(known) > len(self._holders):
            self._holders.extend(np.zeros(len(known) - len(self._holders), np.int32))
        return numbers

    def add(self, texts: Sequence[Sequence[str]]) -> int:
        """Add a document by the terms of each of its fields; return its slot."""
        slot = self.size
        counts: dict[int, bytearray] = {}
        for column, terms in enumerate(texts):
            for number, count in Counter(self.numbers(terms)).items():
                row = counts.get(number)
                if row is None:
                    row = counts[number] = bytearray(len(texts))
                row[column] = min(count, MOST_COUNTED)
        for number, row in counts.items():
            late = self._late.get(number)
            if late is None:
                late = self._late[number] = _Late(array("i"), bytearray())
            late.slots.append(slot)
            late.rows.extend(row)
        self._terms.append(counts)
        self.holders[self._terms.row(slot)] += 1
        lengths = np.array([len(terms) for terms in texts], np.int32)
        self._lengths.extend(lengths[None])
        self._alive.extend(np.ones(1, np.bool_))
        self._sums += lengths
        self._living += 1
        return slot

    def drop(self, slot: int) -> None:
        """Take a document out."""
        self.holders[self._terms.row(slot)] -= 1
        self.alive[slot] = False
        self._sums -= self._lengths.values[slot]
        self._living -= 1

    def gains(self, query: Mapping[str, float], scheme: Scheme | None = None) -> Gains:
        """Return what each term of a query adds that some document holds, in its order."""
        scheme = scheme or self.scheme
        known = [(term, self.vocabulary[term]) for term in query if term in self.vocabulary]
        known = [(term, number) for term, number in known if self.holders[number]]
        numbers = np.array([number for _, number in known], np.int64)
        idf = self.idf_of(numbers, scheme)
        weights = np.array([query[term] for term, _ in known])
        pieces = [
            piece
            for column, (_, number) in enumerate(known)
            for piece in self._pieces(column, number, scheme)
        ]
        return Gains(tuple(term for term, _ in known), numbers, idf, idf * weights, tuple(pieces))

    def scores(self, gains: Gains) -> Floats:
        """Return the sum of gains for each slot; of documents that are gone, too."""
        total = np.zeros(self.size)
        for column, slots, values in gains.pieces:
            np.add.at(total, slots, values * gains.factors[column])
        return total

    def idf(self, term: str, scheme: Scheme | None = None) -> float | None:
        """Return how much a term tells, None where no document holds it."""
        number = self.vocabulary.get(term)
        if number is None or not self.holders[number]:
            return None
        return float(self.idf_of(np.array([number]), scheme)[0])

    def idf_of(self, numbers: NDArray[np.int64] | Ints, scheme: Scheme | None = None) -> Floats:
        """Return how much each term tells; one that no document holds as if one did."""
        scheme = scheme or self.scheme
        idf = scheme.idf_of(np.maximum(self.holders[numbers], 1), self._living)
        if len(idf) and idf.min() < 0:
            idf[idf < 0] = scheme.least_idf(self.holders, self._living)
        return idf

    def rarest_idf(self, scheme: Scheme | None = None) -> float:
        """Return how much a term tells that one document holds; 0 where there is none."""
        return float((scheme or self.scheme).idf_of(1, self._living)) if self._living else 0.0

    def held_by(self, slot: int) -> Iterator[tuple[str, bytes]]:
        """Yield the terms of a document with their count in each field; slow, for explanations."""
        wanted = set(self._terms.row(slot).tolist())
        for term, number in self.vocabulary.items():
            if number in wanted:
                for slots, rows in (self._first(number), self._later(number)):
                    yield from ((term, row.tobytes()) for row in rows[slots == slot])

    def _first(self, number: int) -> tuple[Ints, Rows]:
        """Return slots and counts of a term, as far as the base has them."""
        starts, slots, rows = self.base
        if number + 1 >= len(starts):
            return slots[:0], rows[:0]
        part = slice(starts[number], starts[number + 1])
        return slots[part], rows[part]

    def _later(self, number: int) -> tuple[Ints, Rows]:
        """Return slots and counts of a term that came after the base."""
        late = self._late.get(number)
        if late is None:
            return self.base.slots[:0], self.base.rows[:0]
        # copies, because a buffer that is looked into cannot grow
        rows = np.frombuffer(bytes(late.rows), np.uint8)
        return np.array(late.slots, np.int32), rows.reshape(-1, self.base.rows.shape[1])

    def _pieces(self, column: int, number: int, scheme: Scheme) -> Iterator[Piece]:
        average = float(self._sums @ np.array(scheme.fields)) / self._living
        slots, rows = self._first(number)
        if len(slots):
            is_own = scheme == self.scheme
            cached = self._cache.get(number) if is_own else None
            if cached is None or abs(cached.average - average) > self.drift * average:
                cached = _Cached(average, self._gains(slots, rows, scheme, average))
                if is_own:
                    self._keep(number, cached)
            yield Piece(column, slots, cached.gains)
        if number in self._late:
            slots, rows = self._later(number)
            yield Piece(column, slots, self._gains(slots, rows, scheme, average))

    def _gains(self, slots: Ints, rows: Rows, scheme: Scheme, average: float) -> Floats:
        lengths = scheme.frequencies(self._lengths.values[slots])
        return scheme.gains(scheme.frequencies(rows), lengths, average)

    def _keep(self, number: int, cached: _Cached) -> None:
        self._cached += len(cached.gains)
        if self._cached > MOST_CACHED:
            self._cache, self._cached = {}, len(cached.gains)
        self._cache[number] = cached
