"""The vectors that this process holds in memory, kept by NOTIFY."""

import logging
from collections.abc import Collection, Iterator
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from uuid import UUID

from django.db import DatabaseError, connection
from django.db.models import QuerySet

from registry.changes import Follower, feed
from registry.models import ToolVector
from registry.models.triggers import VECTOR_CHANNEL
from registry.search.dense.vectors import Vectors

logger = logging.getLogger(__name__)

PAGE = 5_000
FEW = 1_000
"""Changed vectors that a search reads itself; with more, all are read in the background."""

Row = tuple[UUID, bytes | memoryview | None]


class HeldVectors:
    """The vectors by one encoder. Those of others are never read."""

    def __init__(self, encoder: str) -> None:
        self._encoder = encoder
        self._lock = Lock()
        self._vectors: Vectors | None = None
        self._told: SimpleQueue[str] = SimpleQueue()
        self._follower: Follower | None = None
        self._reader: Thread | None = None

    def __len__(self) -> int:
        return 0 if self._vectors is None else len(self._vectors)

    def current(self) -> Vectors | None:
        """Return what is held, few changes read; None until the first reading is done.

        Never waits: for all vectors a thread is started, and who finds another search at work
        takes what there is.
        """
        if self._lock.acquire(blocking=False):
            try:
                self._refresh()
            finally:
                self._lock.release()
        return self._vectors

    def read_all(self) -> None:
        """Read all vectors anew, beside those that are held until it is done."""
        vectors: Vectors | None = None
        for page in self._pages():
            if vectors is None and page:
                vectors = Vectors(len(page[0][1]))
            if vectors is not None:
                vectors.put(page)
        self._vectors = vectors

    def close(self) -> None:
        """Forget everything and follow no longer."""
        with self._lock:
            follower, self._follower = self._follower, None
            self._vectors = None
        if follower:
            feed.leave(follower)
        if reader := self._reader:
            reader.join()

    def _refresh(self) -> None:
        if self._reader is not None and self._reader.is_alive():
            return  # what is told meanwhile is read when it is done
        anew = self._follower is None
        if self._follower is None:
            self._follower = feed.follow(VECTOR_CHANNEL, self._told.put)
        changed = self._drained()
        if anew or "" in changed or len(changed) > FEW:
            self._reader = Thread(target=self._read_in_thread, name="vectors", daemon=True)
            self._reader.start()
        elif changed:
            self._read(changed)

    def _read(self, tool_ids: Collection[str]) -> None:
        try:
            rows = self._stored().filter(pk__in=[UUID(tool_id) for tool_id in tool_ids])
            found = {str(pk): bytes(value or b"") for pk, value in rows.iterator()}
        except DatabaseError:
            for tool_id in tool_ids:  # the next search has to know of them
                self._told.put(tool_id)
            raise
        if self._vectors is None and found:
            self._vectors = Vectors(len(next(iter(found.values()))))
        if self._vectors is not None:
            self._vectors.remove(set(tool_ids) - found.keys())
            self._vectors.put(found.items())

    def _read_in_thread(self) -> None:
        try:
            self.read_all()
        except DatabaseError:
            logger.warning("The vectors of tools could not be read", exc_info=True)
            self._told.put("")
        finally:
            connection.close()

    def _pages(self) -> Iterator[list[tuple[str, bytes]]]:
        last: UUID | None = None
        while True:
            rows = self._stored().order_by("pk")
            page = list((rows if last is None else rows.filter(pk__gt=last))[:PAGE])
            yield [(str(pk), bytes(value or b"")) for pk, value in page]
            if len(page) < PAGE:
                return
            last = page[-1][0]

    def _stored(self) -> QuerySet[ToolVector, Row]:
        rows = ToolVector.objects.filter(encoder=self._encoder, vector__isnull=False)
        return rows.values_list("pk", "vector")

    def _drained(self) -> set[str]:
        told: set[str] = set()
        while True:
            try:
                told.update(self._told.get_nowait().split(","))
            except Empty:
                return told
