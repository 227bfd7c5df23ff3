"""Which document holds which term how often in which field.

Only counts are stored, each field's apart; all that an update would change for every document
(IDF, average length), and all that a weight changes, is computed when a query asks. Most postings
lie in arrays sorted by term and slot that never change; what came later lies in short lists by
term, until `merged` makes arrays of both.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from registry.search.arrays import Growing
from registry.search.bm25 import Floats, Ints, Scheme
from registry.search.gains import Gains, Piece, Term
from registry.search.pieces import Pieces
from registry.search.state import Base, Late, Rows, State

MOST_COUNTED = 255
"""How often a word of a field counts at the most; more is a list or an attack."""

Lead = Callable[[Sequence[str], Floats], Floats]
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
        self.vocabulary = state.vocabulary
        self.base = state.base
        self._late = Late(len(scheme.fields))
        # these two are written to in place, so they may not be those of a file
        self._holders = Growing(np.array(state.holders))
        self._alive = Growing(np.array(state.alive))
        self._lengths = Growing(state.lengths)
        self._terms = state.terms
        self._sums = state.lengths[state.alive].sum(axis=0, dtype=np.int64)
        self._living = int(state.alive.sum())
        self._first_late = len(state.alive)
        self.pieces = Pieces(drift)

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
        if not self.slack:
            return self.base
        return self._late.joined(self.base, self.alive, len(self.vocabulary))

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
        self._late.append(slot, counts.items())
        for number in counts:
            self.pieces.forget_later(number)
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

        With `most`, the terms that the most documents hold are left to `Gains.rest` until no more
        postings than that remain; `scores` are without them.
        """
        scheme = scheme or self.scheme
        known = [term for term in query if term in self.vocabulary]
        numbers = np.array([self.vocabulary[term] for term in known], np.int64)
        held = self.holders[numbers]
        if not held.all():
            known = [term for term, holders in zip(known, held, strict=True) if holders]
            numbers, held = numbers[held > 0], held[held > 0]
        idf = self.idf_of(numbers, scheme)
        leads = np.ones(len(known)) if lead is None else lead(known, idf)
        factors = leads * idf * [query[term] for term in known]
        average = float(self._sums @ scheme.weights) / max(self._living, 1)
        terms = [
            Term(self._pieces_of(number, scheme, average), factor, is_left)
            for number, factor, is_left in zip(
                numbers.tolist(), factors.tolist(), _left(held, most), strict=True
            )
        ]
        return Gains.of(known, numbers, idf, leads, terms, self.size)

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
        if scheme.idf == "okapi" and len(idf) and idf.min() < 0:
            idf[idf < 0] = scheme.least_idf(self.holders, self._living)
        return idf

    def rarest_idf(self, scheme: Scheme | None = None) -> float:
        """Return how much a term tells that one document holds; 0 where there is none."""
        return float((scheme or self.scheme).idf_of(1, self._living)) if self._living else 0.0

    def counts(self, term: str, slot: int) -> Sequence[int]:
        """Return how often each field of a document holds a term; slow, for explanations."""
        number = self.vocabulary.get(term)
        if number is not None:
            for slots, rows in (self.base.of(number), self._late.of(number)):
                if len(held := rows[slots == slot]):
                    return [int(count) for count in held[0]]
        return [0] * self.base.rows.shape[1]

    def adopt(self, scheme: Scheme) -> None:
        """Score by another scheme from now on; each term's gains are computed when next asked."""
        if scheme != self.scheme:
            self.scheme = scheme
            self.pieces = Pieces(self.pieces.drift)

    def _pieces_of(self, number: int, scheme: Scheme, average: float) -> list[Piece]:
        is_own = scheme is self.scheme
        first = self.pieces.first(number, average) if is_own else None
        if first is None:
            first = self._piece(*self.base.of(number), scheme, average)
            if is_own:
                self.pieces.keep_first(number, first)
        if number not in self._late:
            return [first]
        later = self.pieces.later(number, average) if is_own else None
        if later is None:
            later = self._piece(*self._late.of(number), scheme, average)
            if is_own:
                self.pieces.keep_later(number, later)
        return [first, later] if len(first.slots) else [later]

    def _piece(self, slots: Ints, rows: Rows, scheme: Scheme, average: float) -> Piece:
        lengths = scheme.frequencies(self._lengths.values[slots])
        return Piece.of(average, slots, scheme.gains(scheme.frequencies(rows), lengths, average))


def _left(held: Ints, most: int | None) -> list[bool]:
    """Return which terms are too much, beginning with the one that most documents hold."""
    if most is None or held.sum() <= most:
        return [False] * len(held)
    order = np.argsort(held, kind="stable")
    left = np.zeros(len(held), np.bool_)
    left[order[1:]] = np.cumsum(held[order])[1:] > most
    return [bool(each) for each in left]
