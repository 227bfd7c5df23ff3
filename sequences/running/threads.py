"""Share jobs among a few threads, with a bound on the threads of the whole process."""

from collections.abc import Callable, Iterable
from threading import Lock, Thread

from django.db import connections

from config.lib.carrying import carried

MOST = 16
"""Threads that all runs of a process have beside their own; each may hold a connection."""

Job = Callable[[], None]


class _Room:
    """Counts the threads that are free. Who finds none works alone, so nobody waits for anybody."""

    def __init__(self, size: int) -> None:
        self._lock, self._free = Lock(), size

    def take(self, wanted: int) -> int:
        with self._lock:
            taken = min(wanted, self._free)
            self._free -= taken
            return taken

    def give(self, count: int) -> None:
        with self._lock:
            self._free += count


_room = _Room(MOST)


class _Work:
    """Jobs, each of which is done by whoever comes for it first."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._lock, self._jobs = Lock(), iter(jobs)
        self.error: BaseException | None = None

    def do(self) -> None:
        while (job := self._next()) is not None:
            try:
                job()
            except BaseException as error:  # raised again by `share`, in the thread of its caller
                with self._lock:
                    self.error = self.error or error

    def do_beside(self) -> None:
        try:
            self.do()
        finally:
            connections.close_all()

    def _next(self) -> Job | None:
        with self._lock:
            return None if self.error else next(self._jobs, None)


def share(jobs: Iterable[Job], *, at_once: int) -> None:
    """Do the jobs in their order, at most `at_once` at a time; return when all are done.

    The calling thread does its part. After the first job that raises no other is begun, and its
    error is raised once those in flight are over. In a busy process fewer are done at a time.
    """
    work = _Work(jobs)
    count = _room.take(at_once - 1)
    try:
        helpers = [Thread(target=carried(work.do_beside), daemon=True) for _ in range(count)]
        for helper in helpers:
            helper.start()
        work.do()
        for helper in helpers:
            helper.join()
    finally:
        _room.give(count)
    if work.error is not None:
        raise work.error
