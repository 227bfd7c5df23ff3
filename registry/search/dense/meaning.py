"""What a search knows of meaning: the encoder that is set, its vectors, and those of queries."""

import logging
import os
from threading import Lock

from registry.search.dense.choice import chosen_encoder, is_remote
from registry.search.dense.encoder import EncoderUnavailable
from registry.search.dense.held import HeldVectors
from registry.search.dense.late import EMPTY, FAILED, LATE, OFF, QueryVectors, Waiting
from registry.search.dense.vectors import Meaning
from registry.search.need import Need

logger = logging.getLogger(__name__)

LOADING = "loading"
"""There are no vectors yet: they are being read, or none was worked out."""

REMOTE_THREADS = 4
"""Questions that may be with a provider at once."""

STATES = ("used", LATE, LOADING, FAILED, EMPTY, OFF)


NOTHING = Meaning(None, None, OFF)


class _Process:
    """The parts of this process, made when a search first asks."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.made = False
        self.held: HeldVectors | None = None
        self.queries: QueryVectors | None = None

    def ensure(self) -> None:
        with self.lock:
            if self.made:
                return
            self.made = True
            try:
                encoder = chosen_encoder()
            except EncoderUnavailable as problem:
                logger.warning("Search goes by words alone: %s", problem)
                return
            if encoder is not None:
                threads = REMOTE_THREADS if is_remote() else 1
                self.held = HeldVectors(encoder.name)
                self.queries = QueryVectors(encoder, threads=threads)


_process = _Process()


def warm_up() -> None:
    """Load the encoder and the vectors in the background."""
    _process.ensure()
    if _process.queries is not None and _process.held is not None:
        _process.queries.warm_up()
        _process.held.current()


def ask(need: Need) -> Waiting | None:
    """Begin with the vector of a need; None where search goes without. Takes no time."""
    _process.ensure()
    return None if _process.queries is None else _process.queries.ask(need)


def answer(waiting: Waiting | None) -> Meaning:
    """Return the vectors that a search may use; waits no longer than the budget."""
    held, queries = _process.held, _process.queries
    if waiting is None or held is None or queries is None:
        return NOTHING
    vectors = held.current()
    if not vectors:
        return Meaning(None, None, LOADING)
    vector, state = queries.answer(waiting)
    return Meaning(vectors if vector is not None else None, vector, state)


def held_vectors() -> HeldVectors | None:
    """Return the vectors of this process; None where search goes without."""
    _process.ensure()
    return _process.held


def reset() -> None:
    """Let go of threads, vectors and connections; the next search makes them anew."""
    global _process
    before, _process = _process, _Process()
    if before.held is not None:
        before.held.close()
    if before.queries is not None:
        before.queries.close()


def _forget() -> None:
    """Start anew in a forked process, where the threads of the old one are gone."""
    global _process  # noqa: PLW0603
    _process = _Process()


os.register_at_fork(after_in_child=_forget)
