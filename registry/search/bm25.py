"""Score documents by BM25 Okapi, with documents that come and go and fields whose weights move.

With `idf="okapi"` the scores are those of `rank_bm25.BM25Okapi` (Trotman et al., "Improvements to
BM25 and Language Models Examined"): raw inverse document frequency, with terms that more than half
of the documents hold raised to `epsilon` times the average. Only counts are stored, each field's
apart; all that an update would change for every document (IDF, average length), and all that a
weight changes, is computed when a query asks.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Idf = Literal["okapi", "lucene"]
Floats = NDArray[np.float64]
Slots = NDArray[np.int32]

MOST_COUNTED = 255
"""How often a word of a field counts at the most; more is a list or an attack."""


@dataclass(frozen=True)
class Scheme:
    """How counts become scores: the weight of each field, and BM25's parameters.

    `idf="lucene"` weighs a term by log(1 + (N - n + .5) / (n + .5)), which is always positive.
    `idf="okapi"` weighs as rank-bm25 does; there a term that half of the documents hold weighs
    nothing, so a registry of two tools finds none.
    """

    fields: tuple[float, ...]
    k1: float = 1.5
    b: float = 0.75
    epsilon: float = 0.25
    idf: Idf = "lucene"


class Gains(NamedTuple):
    """What one term of a query adds to the score of each document that holds it.

    `slots` are of documents that may be gone by now.
    """

    term: str
    slots: Slots
    gains: Floats


class _Cached(NamedTuple):
    average: float
    slots: Slots
    gains: Floats


class Postings:
    """Which document holds which term how often in which field.

    Documents are known by slots, small integers that are given once and never again.
    Not safe for concurrent use with writes.
    """

    def __init__(self, scheme: Scheme) -> None:
        self.scheme = scheme
        self._width = len(scheme.fields)
        self._vocabulary: dict[str, int] = {}
        self._added: list[dict[int, bytes]] = []
        self._alive: NDArray[np.bool_] = np.zeros(16, dtype=np.bool_)
        self._counts: NDArray[np.int32] = np.zeros((16, self._width), dtype=np.int32)
        self._terms: list[tuple[int, ...]] = []
        self._sums = np.zeros(self._width, dtype=np.int64)
        self._living = 0
        self._cache: dict[int, _Cached] = {}

    def __len__(self) -> int:
        return self._living

    @property
    def size(self) -> int:
        """Return how many slots were given, those of documents that are gone included."""
        return len(self._terms)

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Return, for each slot, whether its document is there."""
        return self._alive[: self.size]

    def add(self, texts: Sequence[Sequence[str]]) -> int:
        """Add a document by the terms of each of its fields; return its slot."""
        slot = self.size
        if slot >= len(self._alive):
            self._alive = np.concatenate([self._alive, np.zeros_like(self._alive)])
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
        counts: dict[int, bytearray] = {}
        for column, terms in enumerate(texts):
            self._counts[slot, column] = len(terms)
            for term, count in Counter(terms).items():
                number = self._vocabulary.setdefault(term, len(self._vocabulary))
                held = counts.setdefault(number, bytearray(self._width))
                held[column] = min(count, MOST_COUNTED)
        while len(self._added) < len(self._vocabulary):
            self._added.append({})
        for number, held in counts.items():
            self._added[number][slot] = bytes(held)
            self._cache.pop(number, None)
        self._terms.append(tuple(counts))
        self._alive[slot] = True
        self._sums += self._counts[slot]
        self._living += 1
        return slot

    def drop(self, slot: int) -> None:
        """Take a document out."""
        for number in self._terms[slot]:
            del self._added[number][slot]
            self._cache.pop(number, None)
        self._terms[slot] = ()
        self._alive[slot] = False
        self._sums -= self._counts[slot]
        self._living -= 1

    def gains(self, query: Mapping[str, float], scheme: Scheme | None = None) -> list[Gains]:
        """Return what each known term of a query adds, in the order of the query."""
        scheme = scheme or self.scheme
        found = []
        for term, weight in query.items():
            number = self._vocabulary.get(term)
            if number is None or not self._added[number]:
                continue
            slots, gains = self._gains(number, scheme)
            found.append(Gains(term, slots, gains * (weight * self._term_idf(number, scheme))))
        return found

    def scores(self, gains: Iterable[Gains]) -> Floats:
        """Return the sum of gains for each slot."""
        total = np.zeros(self.size)
        for _, slots, values in gains:
            total[slots] += values
        return total

    def idf(self, term: str, scheme: Scheme | None = None) -> float | None:
        """Return how much a term tells, None where no document holds it."""
        number = self._vocabulary.get(term)
        if number is None or not self._added[number]:
            return None
        return self._term_idf(number, scheme or self.scheme)

    def rarest_idf(self, scheme: Scheme | None = None) -> float:
        """Return how much a term tells that one document holds; 0 where there is none."""
        return self._raw_idf(1, scheme or self.scheme) if self._living else 0.0

    def _gains(self, number: int, scheme: Scheme) -> tuple[Slots, Floats]:
        weights = np.array(scheme.fields)
        average = float(self._sums @ weights) / self._living
        is_own = scheme == self.scheme
        cached = self._cache.get(number) if is_own else None
        if cached is not None and cached.average == average:
            return cached.slots, cached.gains
        holders = self._added[number]
        slots = np.fromiter(holders, dtype=np.int32, count=len(holders))
        held = np.frombuffer(b"".join(holders.values()), dtype=np.uint8)
        frequencies = held.reshape(-1, self._width) @ weights
        lengths = self._counts[slots] @ weights
        norm = scheme.k1 * (1 - scheme.b + scheme.b * lengths / average) if average else 1.0
        values = frequencies * (scheme.k1 + 1) / (frequencies + norm)
        if is_own:
            self._cache[number] = _Cached(average, slots, values)
        return slots, values

    def _raw_idf(self, holders: int, scheme: Scheme) -> float:
        absent = self._living - holders + 0.5
        if scheme.idf == "lucene":
            return math.log1p(absent / (holders + 0.5))
        return math.log(absent) - math.log(holders + 0.5)

    def _term_idf(self, number: int, scheme: Scheme) -> float:
        idf = self._raw_idf(len(self._added[number]), scheme)
        return idf if idf >= 0 else self._least_idf(scheme)

    def _least_idf(self, scheme: Scheme) -> float:
        """Return what replaces a negative IDF; grouped by frequency, since few values differ."""
        groups = Counter(len(holders) for holders in self._added if holders)
        total = math.fsum(self._raw_idf(holders, scheme) * n for holders, n in groups.items())
        return scheme.epsilon * total / sum(groups.values())

    def counts(self, term: str, slot: int) -> Sequence[int]:
        """Return how often each field of a document holds a term."""
        number = self._vocabulary.get(term)
        held = None if number is None else self._added[number].get(slot)
        return held or bytes(self._width)

    def adopt(self, scheme: Scheme) -> None:
        """Score by another scheme from now on."""
        self.scheme = scheme
        self._cache.clear()

    def held_by(self, slot: int) -> Iterator[tuple[str, bytes]]:
        """Yield the terms of a document with their count in each field; slow, for explanations."""
        wanted = set(self._terms[slot])
        for term, number in self._vocabulary.items():
            if number in wanted:
                yield term, self._added[number][slot]
