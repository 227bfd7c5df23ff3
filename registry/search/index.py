"""The index of this process: loaded in the background, kept up to date, never waited for twice."""

import logging
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from threading import Event, Lock, Thread
from typing import TypeVar

from django.conf import settings
from django.db import DatabaseError, connection

from registry.changes import Follower, feed
from registry.models.triggers import CHANGE_CHANNEL
from registry.search.deadline import Deadline
from registry.search.in_force import weights_now
from registry.search.reader import Outdated, Progress, Reader
from registry.search.replica import Replica
from registry.search.shelf import Shelf

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

LOOK_SECONDS = 30.0
"""How long a change may go unnoticed whose notification was lost."""

COUNT_SECONDS = 300.0
"""How often the replica is counted against the catalogue."""

GATHER_SECONDS = 0.05
"""How long changes are gathered before they are read: many transactions cost one reading."""

RETRY_SECONDS = 2.0
"""How long is waited after the database could not be read."""


class SearchIndex:
    """A replica of the catalogue, with a thread that keeps it.

    A search holds the lock while it ranks, the thread while it writes one tool: nobody waits for
    a reading of the catalogue but those who come before the first. Without a thread (`follows`
    false, as in tests, whose transactions no other connection sees) each search looks by itself
    for what has changed, through its own connection.
    """

    def __init__(self, *, follows: bool = True, shelf: Shelf | None = None) -> None:
        self.follows = follows
        self._shelf = shelf
        self._forget()

    def _forget(self) -> None:
        """Begin anew, as after a fork: threads and what they hold stay with the parent."""
        self._lock, self._reading = Lock(), Lock()
        self._starting = Lock()
        self._reader: Reader | None = None
        self._progress = Progress()
        self._loaded, self._bell, self._stopping = Event(), Event(), Event()
        self._thread: Thread | None = None
        self._counted_at = -COUNT_SECONDS
        self._looked_at: float | None = None

    def __len__(self) -> int:
        reader = self._reader
        return len(reader.replica) if reader else 0

    @property
    def is_loaded(self) -> bool:
        """Say whether searches are answered at once."""
        return self._reader is not None

    @property
    def age(self) -> float | None:
        """Return how many seconds ago it was last as the catalogue is; None: it is not loaded."""
        return None if self._looked_at is None else time.monotonic() - self._looked_at

    @property
    def progress(self) -> Progress:
        """Return how far the reading of the catalogue has come that is under way, or was last."""
        return replace(self._progress)

    def warm(self) -> None:
        """Have it loaded in the background, where that is not done already; else at once."""
        if not self.follows:
            with self._reading:
                self._look()
            return
        with self._starting:
            if self._thread is None:
                self._thread = Thread(target=self._run, name="registry-search", daemon=True)
                self._thread.start()

    def using(self, act: Callable[[Replica], Result], deadline: Deadline) -> Result:
        """Return what `act` does with the replica, which ranks by the weights in force.

        It must not be kept. Raises SearchTimeout where none is loaded in time.
        """
        weights = weights_now().weights
        if self.follows:
            self.warm()
            deadline.wait_for(self._loaded)
        else:
            with deadline.querying(), deadline.holding(self._reading):
                self._look()
        with deadline.holding(self._lock):
            replica = self._reader.replica if self._reader else Replica()
            replica.engine.adopt(weights)
            return act(replica)

    def look(self) -> None:
        """Have what changed read now, rather than when it is heard of."""
        self._bell.set()

    def reset(self) -> None:
        """Forget everything, end the thread and let go of its connection."""
        with self._starting:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._stopping.set()
                self._bell.set()
                thread.join()
        self._forget()

    def _run(self) -> None:
        follower: Follower = feed.follow(CHANGE_CHANNEL, lambda _: self._bell.set())
        try:
            while not self._stopping.is_set():
                wait = LOOK_SECONDS
                self._bell.clear()
                try:
                    self._look()
                except DatabaseError as problem:
                    logger.warning("The search index could not be read: %s", problem)
                    wait = RETRY_SECONDS
                except Exception:  # what was read before is searched on, and all is read anew
                    logger.exception("The search index could not be kept up to date")
                    wait = RETRY_SECONDS
                finally:
                    connection.close()
                self._bell.wait(wait)
                self._stopping.wait(GATHER_SECONDS)
        finally:
            feed.leave(follower)

    def _look(self) -> None:
        """Load, or catch up; where that is not possible, read all anew beside what is searched."""
        reader = self._reader or self._taken(self._from_shelf() or self._from_database())
        try:
            self._catch_up(reader)
        except Outdated as reason:
            logger.info("The search index is read anew: %s", reason)
            reader = self._taken(self._from_database())
        self._looked_at = time.monotonic()
        if self.follows and self._shelf:
            self._shelf.keep(reader)

    def _taken(self, reader: Reader) -> Reader:
        """Have searches use what was read."""
        with self._lock:
            self._reader = reader
        self._counted_at = -COUNT_SECONDS
        self._loaded.set()
        return reader

    def _catch_up(self, reader: Reader) -> None:
        reader.catch_up(lambda: self._lock)
        if reader.replica.is_slack:
            replica = reader.replica.compacted()
            with self._lock:
                reader.replica = replica
        self._count(reader)

    def _count(self, reader: Reader) -> None:
        """See now and then that nothing is missing: rows that were removed leave no trace."""
        if not self.follows or time.monotonic() - self._counted_at < COUNT_SECONDS:
            return
        if not reader.is_whole():
            reader.catch_up(lambda: self._lock)  # it may only have changed in between
            if not reader.is_whole():
                raise Outdated("it does not hold as many tools as the catalogue")
        self._counted_at = time.monotonic()

    def _from_shelf(self) -> Reader | None:
        """Return what was kept on disk, brought up to date before anybody searches it."""
        if not self.follows or self._shelf is None or (reader := self._shelf.taken()) is None:
            return None
        with suppress(Outdated):
            reader.catch_up()
            if reader.is_whole():
                return reader
        logger.info("The kept search index is too old: it is read from the database")
        return None

    def _from_database(self) -> Reader:
        started = time.perf_counter()
        self._progress = Progress()
        reader = Reader.of_all(self._progress, sees_own=not self.follows)
        reader.catch_up()
        if self.follows:
            took = time.perf_counter() - started
            logger.info("Read %d tools into the search index in %.1f s", len(reader.replica), took)
        return reader


process_index = SearchIndex(
    follows=settings.SEARCH_FOLLOWS_CHANGES, shelf=Shelf(settings.SEARCH_INDEX_DIR)
)
"""The index that every search of this process uses."""

os.register_at_fork(after_in_child=process_index._forget)
