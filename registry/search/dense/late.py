"""Vectors of queries, within a budget: a search waits for them no longer than that.

Texts are encoded in threads of their own, while the search looks at the words. What comes too
late is kept all the same, so the same message finds it the next time. After a failure the encoder
is left alone for a while, twice as long after each.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from threading import Lock
from typing import NamedTuple

from registry.search.dense.encoder import Encoder, EncoderUnavailable, Floats
from registry.search.dense.texts import Asked, asked
from registry.search.need import Need

logger = logging.getLogger(__name__)

BUDGET_SECONDS = 0.05
KEPT = 4_096
"""Vectors of texts that are kept: 6 MB with 384 numbers each."""

MOST_WAITING = 8
"""Needs that may wait for an encoder; more come too late anyway."""

FIRST_REST, LONGEST_REST = 1.0, 60.0

USED, LATE, OFF, FAILED, EMPTY = "used", "late", "off", "failed", "empty"
"""What became of the meaning in a search."""


class Meant(NamedTuple):
    """The vector of a need, or why there is none."""

    vector: Floats | None
    state: str


class Waiting(NamedTuple):
    """A need whose vector is being worked out."""

    asked: Asked | None
    future: Future[None] | None
    ends_at: float
    state: str


class QueryVectors:
    """The vectors of what is searched for, by one encoder."""

    def __init__(
        self,
        encoder: Encoder,
        *,
        budget: float = BUDGET_SECONDS,
        threads: int = 1,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._encoder, self._budget, self._now = encoder, budget, now
        self._kept: OrderedDict[str, Floats] = OrderedDict()
        self._lock = Lock()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="query-vectors")
        self._pending: dict[tuple[str, ...], Future[None]] = {}
        self._failures = 0
        self._rests_until = 0.0

    def warm_up(self) -> None:
        """Have the encoder loaded while nobody waits."""
        self._submit(("warm up",))

    def close(self) -> None:
        """Let go of the threads; what they are at is not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def ask(self, need: Need) -> Waiting:
        """Begin with the vector of a need; `answer` returns it. Takes no time."""
        ends_at = self._now() + self._budget
        texts = asked(need)
        if texts is None:
            return Waiting(None, None, ends_at, EMPTY)
        missing = self._missing(texts.texts)
        if not missing:
            return Waiting(texts, None, ends_at, USED)
        if self._now() < self._rests_until:
            return Waiting(texts, None, ends_at, FAILED)
        future = self._submit(missing)
        return Waiting(texts, future, ends_at, LATE if future is None else USED)

    def answer(self, waiting: Waiting) -> Meant:
        """Return the vector of a need as soon as it is there, or nothing when the budget is over.

        The budget began with `ask`.
        """
        texts, future, ends_at, state = waiting
        if texts is None or state != USED:
            return Meant(None, state)
        if future is not None:
            try:
                future.result(timeout=max(0.0, ends_at - self._now()))
            except (TimeoutError, CancelledError):
                return Meant(None, LATE)
            except EncoderUnavailable:
                return Meant(None, FAILED)
        with self._lock:
            found = {text: self._kept[text] for text in texts.texts if text in self._kept}
        if len(found) < len(texts.texts):  # pushed out again by many others
            return Meant(None, LATE)
        return Meant(texts.vector(found), USED)

    def _missing(self, texts: Sequence[str]) -> tuple[str, ...]:
        with self._lock:
            for text in texts:
                if text in self._kept:
                    self._kept.move_to_end(text)
            return tuple(text for text in texts if text not in self._kept)

    def _submit(self, texts: tuple[str, ...]) -> Future[None] | None:
        with self._lock:
            if texts not in self._pending and len(self._pending) < MOST_WAITING:
                self._pending[texts] = self._pool.submit(self._encode, texts)
            return self._pending.get(texts)

    def _encode(self, texts: tuple[str, ...]) -> None:
        try:
            vectors = self._encoder.encode(texts)
        except Exception as problem:
            self._failed(problem)
            raise EncoderUnavailable(str(problem)) from problem
        else:
            self._keep(texts, vectors)
        finally:
            with self._lock:
                del self._pending[texts]

    def _keep(self, texts: Sequence[str], vectors: Floats) -> None:
        with self._lock:
            self._failures = 0
            for text, vector in zip(texts, vectors, strict=True):
                self._kept[text] = vector
                self._kept.move_to_end(text)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)

    def _failed(self, problem: Exception) -> None:
        with self._lock:
            rest = min(LONGEST_REST, FIRST_REST * 2**self._failures)
            self._failures += 1
            self._rests_until = self._now() + rest
        logger.warning(
            "%s gave no vectors, next try in %g s: %s", self._encoder.name, rest, problem
        )
