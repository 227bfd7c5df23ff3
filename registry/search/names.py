"""What tools are called: found by a whole name, by how its words begin, or by a pattern.

Row n is the tool in slot n of the index, so that a mask of the index says who may be found. What
is not in the mask changes nothing: neither what is found nor whether a slip is mended.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from registry.search.document import SearchDocument
from registry.search.words import WordIndex, misspelt, words_of

Mask = NDArray[np.bool_]
Slots = NDArray[np.intp]

LINES = ("name", "name", "title", "package", "description")
"""The lines of a tool's text: wire name, name in its package, title, package, what it does."""

CALLED = 3
"""Lines that say what a tool is called."""

MOST_DESCRIBED = 2_000
"""Characters of a description that a pattern looks at."""

MOST_WORDS = 8
"""Words of a query that are looked up, the first ones."""


class Texts(NamedTuple):
    """The texts of some tools with their ids and quality, to be read while the index changes."""

    texts: list[bytes]
    ids: list[str]
    merit: NDArray[np.float32]

    def in_order(self, found: Iterable[tuple[int, int]]) -> list[tuple[str, int]]:
        """Return ids with the lines that matched: names before descriptions, then by quality."""
        keyed = sorted((line, -float(self.merit[n]), self.ids[n]) for n, line in found)
        return [(tool_id, line) for line, _, tool_id in keyed]


class Names:
    """The names of all tools. Not safe for concurrent use with writes.

    Words are taken in by the first search after a change, not by the change.
    """

    def __init__(self) -> None:
        self._texts: list[bytes] = []
        self._ids: list[str] = []
        self._merit: NDArray[np.float32] = np.zeros(16, np.float32)
        self._unread: list[int] = []
        self._words = WordIndex()
        self._reading = Lock()  # a search and the keeping of a snapshot may both read on

    def put(self, slot: int, document: SearchDocument) -> None:
        """Keep what the tool in a new slot is called."""
        while len(self._texts) <= slot:
            self._texts.append(b"")
            self._ids.append("")
        if slot >= len(self._merit):
            more = np.zeros(max(slot + 1, 2 * len(self._merit)) - len(self._merit), np.float32)
            self._merit = np.concatenate([self._merit, more])
        self._texts[slot] = _text_of(document)
        self._ids[slot] = document.id
        self._unread.append(slot)
        self.set_merit(slot, document)

    def set_merit(self, slot: int, document: SearchDocument) -> None:
        """Take over what orders equals."""
        self._merit[slot] = document.quality

    def remove(self, slot: int) -> None:
        """Forget the tool in a slot."""
        self._texts[slot] = b""

    def ids(self, slots: Sequence[int]) -> list[str]:
        """Return the ids of the tools in some slots."""
        return [self._ids[slot] for slot in slots]

    def texts(self, mask: Mask) -> Texts:
        """Return the texts of the tools in the mask: what a pattern is held against."""
        slots = np.flatnonzero(mask)
        places = slots.tolist()
        return Texts([self._texts[slot] for slot in places], self.ids(places), self._merit[slots])

    def settle(self) -> None:
        """Take in all words now, so that no search has to."""
        self._read(settled=True)

    def called(self, name: str, mask: Mask) -> list[int]:
        """Return the tools with this name or title, apart from case, blanks, `_` and `-`.

        Those whose name is written just so come first.
        """
        whole = "".join(words_of(name))
        if not whole:
            return []
        hits = np.zeros(len(mask), np.bool_)
        hits[self._read().slots(whole, whole=True)[0]] = True
        ranks = []
        for slot in np.flatnonzero(hits & mask).tolist():
            lines = self._texts[slot].decode().split("\n")[:CALLED]
            same = [number for number, line in enumerate(lines) if line == name.strip()]
            alike = [n for n, line in enumerate(lines) if "".join(words_of(line)) == whole]
            if same or alike:
                rank = same[0] if same else CALLED + alike[0]
                ranks.append((rank, -float(self._merit[slot]), self._ids[slot], slot))
        return [slot for *_, slot in sorted(ranks)]

    def begun(self, text: str, mask: Mask, limit: int) -> list[int]:
        """Return the best tools in whose name or title each word of a text begins a word.

        Names that begin with it come first, then whole words, quality and short names.
        A word that no name has is looked up with one letter changed.
        """
        words = words_of(text)[:MOST_WORDS]
        if not words:
            return []
        index = self._read()
        points = [_points(index, word, mask) for word in words]
        met = np.flatnonzero(reduce(np.logical_and, (each > 0 for each in points)))
        score = np.sum([each[met] for each in points], axis=0) + self._merit[met]
        if len(met) > 4 * limit:
            best = np.argpartition(score, -4 * limit)[-4 * limit :]
            met, score = met[best], score[best]
        ranked = sorted(
            (-float(value), self._texts[slot].index(b"\n"), self._ids[slot], slot)
            for slot, value in zip(met.tolist(), score, strict=True)
        )
        return [slot for *_, slot in ranked[:limit]]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what is held, to be stored; slots stay as they are."""
        words = self._read(settled=True)
        return {
            **words.arrays(),
            "texts": np.frombuffer(b"".join(self._texts), np.uint8),
            "ends": np.cumsum([len(text) for text in self._texts], dtype=np.int64),
            "merit": self._merit[: len(self._texts)],
        }

    def moved(self, places: NDArray[np.signedinteger[Any]]) -> "Names":
        """Return the same with each slot at its new place, -1 for those that are let go.

        Searches may go on meanwhile, writes not.
        """
        names = Names()
        kept = np.flatnonzero(places >= 0)
        order = kept[np.argsort(places[kept])].tolist()
        names._texts = [self._texts[slot] for slot in order]
        names._ids = [self._ids[slot] for slot in order]
        names._merit = self._merit[order]
        names._words = self._read(settled=True).moved(places)
        return names

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], ids: Sequence[str]) -> "Names":
        """Return what `arrays` told; `ids` are those of the tools, in the order of their slots."""
        names = cls()
        if ids:
            text, ends = arrays["texts"].tobytes(), arrays["ends"].tolist()
            names._texts = [text[a:b] for a, b in zip([0, *ends], ends, strict=False)]
            names._ids = list(ids)
            names._merit = np.array(arrays["merit"])
            names._words = WordIndex.from_arrays(arrays)
        return names

    def _read(self, *, settled: bool = False) -> WordIndex:
        """Return the words, those included that were put since the last look."""
        with self._reading:
            unread, self._unread = self._unread, []
            for slot in unread:
                if text := self._texts[slot]:
                    self._words.put(slot, text.decode().split("\n", CALLED)[:CALLED])
            if settled or self._words.is_unsettled:
                alive = np.fromiter(map(bool, self._texts), np.bool_, count=len(self._texts))
                self._words.settle(alive, whole=settled)
            return self._words


def _points(index: WordIndex, word: str, mask: Mask) -> NDArray[np.float32]:
    """Return how well each slot has a word: 0 not at all, 3 as the whole first word."""
    points = _points_of(index, word, mask)
    if not points.any():
        for variant in misspelt(word):
            if len(index.slots(variant, whole=False)[0]):
                np.maximum(points, _points_of(index, variant, mask) / 2, out=points)
    return points


def _points_of(index: WordIndex, word: str, mask: Mask) -> NDArray[np.float32]:
    points: NDArray[np.float32] = np.zeros(len(mask), np.float32)
    for least, whole in ((1.0, False), (2.0, True)):
        slots, first = index.slots(word, whole=whole)
        points[slots] = least  # from the least to the most, for a slot may be there twice
        points[slots[first]] = least + 1.0
    points[~mask] = 0.0
    return points


def _text_of(document: SearchDocument) -> bytes:
    lines = (
        document.wire_name or document.name,
        document.name if document.wire_name else "",
        document.title,
        document.package,
        document.description[:MOST_DESCRIBED],
    )
    return "\n".join(" ".join(line.split()) for line in lines).encode(errors="replace")
