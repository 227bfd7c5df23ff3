"""How one text of a need scores the candidates."""

from functools import cached_property

import numpy as np

from registry.search.bm25 import Floats, Ints
from registry.search.closely import Close, Known
from registry.search.gains import Gains
from registry.search.need import Reading
from registry.search.scoring import best_clause
from registry.search.weights import Weights


class Scored:
    """The parts of the score of each candidate for one text. What nobody asks costs nothing."""

    def __init__(
        self, reading: Reading, gains: Gains, close: Close, known: Known, weights: Weights
    ) -> None:
        self.gains = gains
        self._clauses = reading.clauses
        self._close = close
        self._known = known
        self._weights = weights

    @cached_property
    def total(self) -> Floats:
        """Return the sum of the parts."""
        return self.text + self.coverage + self.clause + self.passage - self.limitations

    @cached_property
    def text(self) -> Floats:
        """Return the score by BM25 as a share of the best."""
        return self._sums / self.most if self.most else self._sums

    @cached_property
    def covered(self) -> Floats:
        """Return which share of each name is said."""
        return self._close.coverage(self._known) if self.gains.terms else self._nothing

    @cached_property
    def coverage(self) -> Floats:
        """Return what the name adds."""
        return self._weights.name_coverage * self.covered

    @cached_property
    def clause(self) -> Floats:
        """Return what the clause adds that fits best."""
        if not (self._clauses and self.most and self._weights.clause):
            return self._nothing
        column = {term: number for number, term in enumerate(self.gains.terms)}
        clauses = [[column[term] for term in each if term in column] for each in self._clauses]
        return self._weights.clause / self.most * best_clause(self._by_term, clauses)

    @cached_property
    def passage(self) -> Floats:
        """Return what the example adds that fits best."""
        if not (self._weights.passage and self.gains.terms):
            return self._nothing
        return self._weights.passage * self._close.likeness_of_passages(self._known)

    @cached_property
    def limitations(self) -> Floats:
        """Return what is taken off for what a tool says it cannot do."""
        if not (self._weights.limitations and self.gains.terms):
            return self._nothing
        return self._weights.limitations * self._close.likeness_of_limitations(self._known)

    def gains_of(self, places: Ints) -> Floats:
        """Return what each term (column) adds to each of a few candidates (rows)."""
        return self._by_term[:, places].T

    @cached_property
    def _by_term(self) -> Floats:
        return self.gains.by_term(self._close.slots)

    @cached_property
    def _sums(self) -> Floats:
        return self.gains.total(self._close.slots)

    @cached_property
    def most(self) -> float:
        """Return the best gain of its words, which the parts are shares of."""
        return float(self._sums.max(initial=0.0))

    @property
    def _nothing(self) -> Floats:
        return np.zeros(len(self._close.slots))


class ScoredBefore(Scored):
    """The same for earlier messages, by their words and the names alone.

    They count a tenth: which clause or example fits changes nothing that is worth its time.
    """

    @cached_property
    def total(self) -> Floats:
        """Return the sum of the parts."""
        return self.text + self.coverage

    def gains_of(self, places: Ints) -> Floats:
        """Return what each term (column) adds to each of a few candidates (rows)."""
        return self.gains.of_few(self._close.slots[places])
