"""Which document holds which term how often in which field.

Only counts are stored, each field's apart; all that an update would change for every document
(IDF, average length), and all that a weight changes, is computed when a query asks. Most postings
lie in arrays sorted by term and slot that never change; what came later lies in short lists by
term, until `merged` makes arrays of both.
"""

from array import array
from collections.abc import Callable, Mapping, Sequence
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
_NO_SLOTS = np.zeros(0, np.int32)


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


class _Piece(NamedTuple):
    """What one term adds, for an IDF of 1, to documents (some maybe gone) sorted by slot.

    `average` is the average length that it was computed for.
    """

    average: float
    slots: Ints
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


class Gains(NamedTuple):
    """What the known terms of a query add to the scores of documents.

    `terms`, `numbers`, `idf` and `factors` (IDF times weight in the query) belong together.
    A term adds `values[i]` to the document `slots[i]`; those of the first term, which end before
    `ends[0]`, come first. `scores` are the sums for each slot, those of documents that are gone
    included. Terms that cost too much (`rest`: column, factor and piece) stand in no array.
    `leads` are what the factors were multiplied by beside that.
    """

    terms: tuple[str, ...]
    numbers: NDArray[np.int64]
    idf: Floats
    factors: Floats
    ends: NDArray[np.int64]
    slots: Ints
    values: Floats
    scores: Floats
    leads: Floats
    rest: tuple[tuple[int, float, _Piece], ...] = ()

    def by_term(self, slots: Ints) -> Floats:
        """Return what each term (column) adds to each of some documents (rows)."""
        matrix = np.zeros((len(self.terms), len(slots)))
        places = np.full(len(self.scores), -1, np.int32)
        places[slots] = np.arange(len(slots))
        found = places[self.slots]
        hits = np.flatnonzero(found >= 0)
        matrix[self.ends.searchsorted(hits, side="right"), found[hits]] = self.values[hits]
        for column, factor, piece in self.rest:
            matrix[column] += factor * _added(piece, slots)
        return matrix.T

    def total(self, slots: Ints) -> Floats:
        """Return what all terms add to each of some documents."""
        total: Floats = self.scores[slots]
        for _, factor, piece in self.rest:
            total += factor * _added(piece, slots)
        return total


def _added(piece: _Piece, slots: Ints) -> Floats:
    places = piece.slots.searchsorted(slots)
    is_held = piece.slots.take(places, mode="clip") == slots
    added: Floats = piece.gains.take(places, mode="clip") * is_held
    return added


Lead = Callable[[tuple[str, ...], Floats], Floats]
"""Returns what the factor of each term is multiplied by, told the terms and their IDF."""


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
        self._pieces: dict[int, _Piece] = {}
        self._late_pieces: dict[int, _Piece] = {}
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
        if (new := len(known) - len(self._holders)) > 0:
            self._holders.extend(np.zeros(new, np.int32))
        return numbers

    def add(self, texts: Sequence[Sequence[str]]) -> int:
        """Add a document by the terms of each of its fields; return its slot."""
        slot = self.size
        counts: dict[int, bytearray] = {}
        for column, terms in enumerate(texts):
            for number in self.numbers(terms):
                row = counts.get(number)
                if row is None:
                    row = counts[number] = bytearray(len(texts))
                if row[column] < MOST_COUNTED:
                    row[column] += 1
        for number, row in counts.items():
            late = self._late.get(number)
            if late is None:
                late = self._late[number] = _Late(array("i"), bytearray())
            late.slots.append(slot)
            late.rows.extend(row)
            self._late_pieces.pop(number, None)
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

    def gains(
        self,
        query: Mapping[str, float],
        scheme: Scheme | None = None,
        *,
        lead: Lead | None = None,
        most: int | None = None,
    ) -> Gains:
        """Return what each term of a query adds that some document holds, in its order.

        With `most`, the terms that the most documents hold are left to `Gains.total` until no
        more postings than that remain; `scores` are without them.
        """
        scheme = scheme or self.scheme
        known = [term for term in query if term in self.vocabulary]
        numbers = np.array([self.vocabulary[term] for term in known], np.int64)
        held = self.holders[numbers]
        if not held.all():
            known = [term for term, holders in zip(known, held, strict=True) if holders]
            numbers, held = numbers[held > 0], held[held > 0]
        idf = self.idf_of(numbers, scheme)
        leads = np.ones(len(known)) if lead is None else lead(tuple(known), idf)
        factors = leads * idf * [query[term] for term in known]
        is_left = _left(held, most)
        average = float(self._sums @ np.array(scheme.fields)) / max(self._living, 1)
        pieces: list[_Piece] = []
        scales: list[float] = []
        rest: list[tuple[int, float, _Piece]] = []
        counts = []
        for column, (number, factor, left) in enumerate(
            zip(numbers.tolist(), factors.tolist(), is_left, strict=True)
        ):
            found = self._pieces_of(number, scheme, average)
            counts.append(0 if left else sum([len(piece.slots) for piece in found]))
            if left:
                rest.extend((column, factor, piece) for piece in found)
            else:
                pieces.extend(found)
                scales.extend([factor] * len(found))
        ends = np.cumsum(counts, dtype=np.int64)
        slots = np.concatenate([_NO_SLOTS, *[piece.slots for piece in pieces]])
        values, end = np.empty(len(slots)), 0
        for piece, scale in zip(pieces, scales, strict=True):
            start, end = end, end + len(piece.gains)
            np.multiply(piece.gains, scale, out=values[start:end])
        scores = np.zeros(self.size)
        np.add.at(scores, slots, values)
        return Gains(
            terms=tuple(known),
            numbers=numbers,
            idf=idf,
            factors=factors,
            ends=ends,
            slots=slots,
            values=values,
            scores=scores,
            leads=leads,
            rest=tuple(rest),
        )

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

    def counts(self, term: str, slot: int) -> Sequence[int]:
        """Return how often each field of a document holds a term; slow, for explanations."""
        number = self.vocabulary.get(term)
        if number is not None:
            for slots, rows in (self._first(number), self._later(number)):
                if len(held := rows[slots == slot]):
                    return [int(count) for count in held[0]]
        return [0] * self.base.rows.shape[1]

    def adopt(self, scheme: Scheme) -> None:
        """Score by another scheme from now on; each term's gains are computed when next asked."""
        if scheme != self.scheme:
            self.scheme = scheme
            self._pieces.clear()
            self._late_pieces.clear()
            self._cached = 0

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

    def _pieces_of(self, number: int, scheme: Scheme, average: float) -> list[_Piece]:
        kinds = ((self._pieces, self._first), (self._late_pieces, self._later))
        pieces = []
        for kept, read in kinds if number in self._late else kinds[:1]:
            piece = kept.get(number) if scheme is self.scheme else None
            if piece is None or abs(piece.average - average) > self.drift * average:
                slots, rows = read(number)
                lengths = scheme.frequencies(self._lengths.values[slots])
                gains = scheme.gains(scheme.frequencies(rows), lengths, average)
                piece = _Piece(average, slots, gains)
                if scheme is self.scheme:
                    self._keep(kept, number, piece)
            if len(piece.slots):
                pieces.append(piece)
        return pieces

    def _keep(self, kept: dict[int, _Piece], number: int, piece: _Piece) -> None:
        self._cached += len(piece.gains)
        if self._cached > MOST_CACHED:
            self._pieces.clear()
            self._late_pieces.clear()
            self._cached = len(piece.gains)
        kept[number] = piece


def _left(held: Ints, most: int | None) -> list[bool]:
    """Return which terms are too much, beginning with the one that most documents hold."""
    if most is None or held.sum() <= most:
        return [False] * len(held)
    order = np.argsort(held, kind="stable")
    left = np.zeros(len(held), np.bool_)
    left[order[1:]] = np.cumsum(held[order])[1:] > most
    return [bool(each) for each in left]
