"""Words that names are made of, and which slots have them: found whole or by how they begin."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from sys import intern
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]

MOST_APART = 4_000
"""Words that are looked through one by one before they are sorted."""

MOST_RECENT = 0.1
"""The share of words that are sorted by themselves before they are sorted in among the others."""

SHORTEST_MISSPELT, LONGEST_MISSPELT = 4, 24
"""Letters of a word that is looked up with one of them changed."""

ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"

LAST = "\U0010ffff"
"""Comes after every character that a word can have."""

_ACCENTS = re.compile("[\u0300-\u036f]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+")


def words_of(text: str) -> list[str]:
    """Return the words of a name or a title in order, identifiers split, without accents."""
    if not text.isascii():
        text = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return _WORD.findall(_CAMEL.sub(" ", text).lower())


def misspelt(word: str) -> Iterator[str]:
    """Yield the words that one slip makes of a word; the first letter is taken to be right."""
    if not SHORTEST_MISSPELT <= len(word) <= LONGEST_MISSPELT:
        return
    for place in range(1, len(word)):
        before, letter, after = word[:place], word[place], word[place + 1 :]
        yield before + after
        if after:
            yield before + after[0] + letter + after[1:]
        for other in ALPHABET:
            yield before + other + after
            yield before + other + letter + after


class _Held(NamedTuple):
    """One word of one slot; `is_first` where a name begins with it."""

    word: str
    slot: int
    is_first: bool


class _Sorted(NamedTuple):
    """Words in order; those of the slots from `starts[n]` to `starts[n + 1]` have word n."""

    words: list[str]
    starts: NDArray[np.int64]
    slots: NDArray[np.int32]
    first: Mask


_NONE = _Sorted([], np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.bool_))


class WordIndex:
    """Which slots have which words. It may be looked up while it is settled.

    What came of late is sorted by itself, so that many changes do not sort all words many times.
    """

    def __init__(self) -> None:
        self._apart: list[_Held] = []
        self._recent = self._sorted = _NONE

    def put(self, slot: int, texts: Sequence[str]) -> None:
        """Take in the words of some names, and each name as one word."""
        found: dict[str, bool] = {}
        for words in {tuple(words_of(text)) for text in texts}:
            for place, word in enumerate([*words, "".join(words)] if words else ()):
                is_first = place in (0, len(words))
                found[word] = found.get(word, False) or is_first
        self._apart.extend(_Held(intern(word), slot, first) for word, first in found.items())

    def slots(self, word: str, *, whole: bool) -> tuple[NDArray[np.intp], Mask]:
        """Return who has the word, or one that begins so, and whether as its first; with repeats.

        Slots that were emptied since are among them.
        """
        apart = [
            held
            for held in self._apart
            if (held.word == word if whole else held.word.startswith(word))
        ]
        found = [
            (
                np.array([held.slot for held in apart], np.intp),
                np.array([held.is_first for held in apart], np.bool_),
            )
        ]
        for words, starts, slots, first in (self._recent, self._sorted):
            low = bisect_left(words, word)
            high = bisect_left(words, word + ("\0" if whole else LAST))
            span = slice(starts[low], starts[high])
            found.append((slots[span].astype(np.intp), first[span]))
        return (
            np.concatenate([slots for slots, _ in found]),
            np.concatenate([first for _, first in found]),
        )

    @property
    def is_unsettled(self) -> bool:
        """Say whether so much came since the last `settle` that looking through it is slow."""
        return len(self._apart) > MOST_APART

    def settle(self, alive: Mask, *, whole: bool = False) -> None:
        """Sort in what came since; let go of the words of emptied slots.

        With `whole` all words are in one order then, as `arrays` and `moved` take it. What a
        lookup reads later is written first, so that it misses nothing.
        """
        apart = _Sorted(
            [held.word for held in self._apart],
            np.arange(len(self._apart) + 1),
            np.array([held.slot for held in self._apart], np.int32),
            np.array([held.is_first for held in self._apart], np.bool_),
        )
        recent = _joined((self._recent, apart), alive)
        if whole or len(recent.slots) > MOST_RECENT * len(self._sorted.slots):
            self._sorted, recent = _joined((self._sorted, recent), alive), _NONE
        self._recent = recent
        self._apart = []

    def moved(self, places: NDArray[np.signedinteger[Any]]) -> "WordIndex":
        """Return what was sorted in, with each slot at its new place, -1 for those let go."""
        words, starts, slots, first = self._sorted
        to = places[slots]
        is_kept = to >= 0
        by_word = np.repeat(np.arange(len(words)), np.diff(starts))[is_kept]
        counts = np.bincount(by_word, minlength=len(words))
        index = WordIndex()
        index._sorted = _Sorted(
            [word for word, count in zip(words, counts.tolist(), strict=True) if count],
            np.concatenate([[0], np.cumsum(counts[counts > 0])]).astype(np.int64),
            to[is_kept].astype(np.int32),
            first[is_kept],
        )
        return index

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what was sorted in, to be stored."""
        words, starts, slots, first = self._sorted
        text = np.frombuffer("\n".join(words).encode(), np.uint8)
        return {"words": text, "starts": starts, "slots": slots, "first": first}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "WordIndex":
        """Return what `arrays` told."""
        index = cls()
        text = arrays["words"].tobytes().decode()
        words = text.split("\n") if text else []
        index._sorted = _Sorted(words, arrays["starts"], arrays["slots"], arrays["first"])
        return index


def _joined(parts: Sequence[_Sorted], alive: Mask) -> _Sorted:
    """Return all words in one order, those of emptied slots left out."""
    numbers: dict[str, int] = {}
    numbered = [numbers.setdefault(word, len(numbers)) for part in parts for word in part.words]
    words = sorted(numbers)
    place = np.empty(len(words), np.int64)
    place[[numbers[word] for word in words]] = np.arange(len(words))
    counts = np.concatenate([np.diff(part.starts) for part in parts])
    by_word = place[np.repeat(np.array(numbered, np.int64), counts)]
    slots = np.concatenate([part.slots for part in parts])
    first = np.concatenate([part.first for part in parts])
    order = np.argsort(by_word, kind="stable")
    order = order[alive[slots[order]]]
    starts = np.searchsorted(by_word[order], np.arange(len(words) + 1))
    return _Sorted(words, starts, slots[order], first[order])
