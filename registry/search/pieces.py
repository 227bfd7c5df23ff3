"""What terms add to documents, kept from one query to the next."""

from collections.abc import Callable

from registry.search.bm25 import Ints
from registry.search.gains import Piece
from registry.search.state import Rows

MOST_CACHED = 4_000_000
"""Gains that are kept for the next query: 32 MB. Above, all are computed anew."""

Work = Callable[[Ints, Rows], Piece]


class Pieces:
    """Pieces by term, those of the base and those that came later apart.

    A piece is worked out anew where the average length is off by the relative `drift`.
    """

    def __init__(self, drift: float) -> None:
        self.drift = drift
        self._first: dict[int, Piece] = {}
        self._later: dict[int, Piece] = {}
        self._count = 0

    def first(self, number: int, average: float) -> Piece | None:
        """Return the piece of a term in the base."""
        return self._fresh(self._first.get(number), average)

    def later(self, number: int, average: float) -> Piece | None:
        """Return the piece of a term of what came later."""
        return self._fresh(self._later.get(number), average)

    def keep_first(self, number: int, piece: Piece) -> None:
        """Keep the piece of a term in the base."""
        self._make_room(piece)
        self._first[number] = piece

    def keep_later(self, number: int, piece: Piece) -> None:
        """Keep the piece of a term of what came later."""
        self._make_room(piece)
        self._later[number] = piece

    def forget_later(self, number: int) -> None:
        """Let go of what came later of a term: there is more."""
        self._later.pop(number, None)

    def _fresh(self, piece: Piece | None, average: float) -> Piece | None:
        if piece is None or abs(piece.average - average) > self.drift * average:
            return None
        return piece

    def _make_room(self, piece: Piece) -> None:
        self._count += len(piece.gains)
        if self._count > MOST_CACHED:
            self._first.clear()
            self._later.clear()
            self._count = len(piece.gains)
