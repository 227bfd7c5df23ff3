"""Read a word that no tool holds as one that some do: misspelt, or two words written as one.

Only words without any hit are looked at, so that what is spelt right costs nothing. The terms of
the index are searched by length and by the set of their characters, both as arrays, before any
distance is computed; an answer is kept until the vocabulary grows.
"""

from collections.abc import Mapping
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from registry.search.tokens import LETTERS_OF_PARTS, MAX_TERM_LENGTH, stem

SHORTEST = 4
"""Characters of a term below which every other word is near."""

SHORT = 5
"""Characters up to which no other letter is forgiven, only one too many, missing or swapped: `last`
is no `list` and `data` no `date`."""

FAR = 8
"""Characters from which two mistakes are forgiven instead of one."""

MOST_KEPT = 4_096
MOST_MEASURED = 2_000
"""Terms whose distance is computed, at the most, for one word."""


class Spelling:
    """The terms of an index to correct words by. Grows with its vocabulary, which only grows."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._vocabulary = vocabulary
        self._terms: list[str] = []
        self._lengths: NDArray[np.int16] = np.zeros(0, np.int16)
        self._characters: NDArray[np.uint64] = np.zeros(0, np.uint64)
        self._kept: dict[str, tuple[str, ...]] = {}

    def correct(
        self, term: str, word: str, holders: NDArray[np.int32], names: NDArray[np.int32]
    ) -> tuple[str, ...]:
        """Return the terms that a term of a query is read as, none where nothing is near.

        `word` is the term as it is written, `holders` how many documents hold each term by its
        number, `names` the numbers of all terms in names; these are preferred.
        """
        self._grow()
        if term not in self._kept:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[term] = self._near(term, holders, names) or self._split(word, holders)
        return self._kept[term]

    def _grow(self) -> None:
        new = len(self._vocabulary) - len(self._terms)
        if not new:
            return
        terms = list(islice(self._vocabulary, len(self._terms), None))
        self._terms += terms
        self._lengths = np.append(self._lengths, np.array([len(each) for each in terms], np.int16))
        self._characters = np.append(self._characters, _characters(terms))
        self._kept.clear()

    def _near(
        self, term: str, holders: NDArray[np.int32], names: NDArray[np.int32]
    ) -> tuple[str, ...]:
        if len(term) < SHORTEST or not term.isalpha():
            return ()
        most = 2 if len(term) >= FAR else 1
        fits = np.abs(self._lengths - len(term)) <= most
        # one mistake changes the set of characters by two at the most
        different = np.bitwise_count(self._characters ^ _characters([term])[0])
        fits &= different <= 2 * most
        fits &= holders[: len(fits)] > 0
        near: dict[int, list[int]] = {}
        for number in np.flatnonzero(fits)[:MOST_MEASURED].tolist():
            other = self._terms[number]
            if other[0] != term[0] or not other.isalpha():
                continue  # hardly anyone mistakes the first letter
            distance = distance_of(term, other, most)
            if distance <= most and not (len(term) <= SHORT and _is_another(term, other)):
                near.setdefault(distance, []).append(number)
        if not near:
            return ()
        found = near[min(near)]
        if len(found) > 1:
            found = [number for number in found if (names == number).any()] or found
        return (self._terms[min(found, key=lambda number: (-holders[number], number))],)

    def _split(self, word: str, holders: NDArray[np.int32]) -> tuple[str, ...]:
        """Return a word as two that are known, the most evenly split."""
        if not word.isalpha():
            return ()
        word = word[:MAX_TERM_LENGTH]
        places = range(LETTERS_OF_PARTS, len(word) - LETTERS_OF_PARTS + 1)
        for place in sorted(places, key=lambda place: abs(2 * place - len(word))):
            parts = (stem(word[:place]), stem(word[place:]))
            numbers = [self._vocabulary.get(part, -1) for part in parts]
            if all(number >= 0 and holders[number] for number in numbers):
                return parts
        return ()


def distance_of(one: str, other: str, most: int) -> int:
    """Return how many letters must be put, taken, changed or swapped with the next.

    What is more than `most` is told as `most + 1`.
    """
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        now = [row]
        for column, against in enumerate(other, 1):
            cost = min(last[column] + 1, now[-1] + 1, last[column - 1] + (letter != against))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == against:
                cost = min(cost, before[column - 2] + 1)
            now.append(cost)
        if min(now) > most:
            return most + 1
        before, last = last, now
    return min(last[-1], most + 1)


def _is_another(one: str, other: str) -> bool:
    """Say whether two words of one length differ by other letters, not by swapped ones."""
    return len(one) == len(other) and sorted(one) != sorted(other)


def _characters(terms: list[str]) -> NDArray[np.uint64]:
    """Return the set of the characters of each term as bits."""
    codes = np.frombuffer("".join(terms).encode("utf-32-le", "surrogatepass"), np.uint32)
    bits = np.uint64(1) << (codes.astype(np.uint64) & np.uint64(63))
    ends = np.cumsum([len(term) for term in terms])
    sets: NDArray[np.uint64] = np.bitwise_or.reduceat(bits, np.append(0, ends[:-1]))
    return sets
