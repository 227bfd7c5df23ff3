"""Use the asynchronous client from a thread, and stop as soon as the caller gives up."""

import queue
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from typing import TypeVar

from anyio.from_thread import BlockingPortalProvider

from config.lib.types import JsonObject
from registry.errors import CallCancelled
from registry.sandbox.contract import Cancel

T = TypeVar("T")

POLL_SECONDS = 0.03
CLOSE_SECONDS = 5.0
"""After giving up: how long to wait for the word that everything is closed."""

Note = Callable[[JsonObject], None]

# One event loop for all calls of a process that run at the same time; none while none does.
_loops = BlockingPortalProvider()


def run(work: Callable[[Note], Awaitable[T]], *, cancel: Cancel, note: Note) -> T:
    """Run `work(note)` to its end and return what it returns.

    Notes are handed on in the caller's own thread, where the database may be used. Raises
    `CallCancelled` once `cancel` is set and all that `work` had open is closed.
    """
    notes: queue.SimpleQueue[JsonObject | None] = queue.SimpleQueue()
    closed = threading.Event()

    async def whole() -> T:
        try:
            return await work(notes.put)
        finally:
            closed.set()

    with _loops as loop:
        future: Future[T] = loop.start_task_soon(whole)
        future.add_done_callback(lambda _: notes.put(None))
        try:
            _follow(notes, future, cancel, note)
        finally:
            if future.cancel():  # not when it is done
                closed.wait(CLOSE_SECONDS)
        try:
            return future.result()
        except CancelledError:
            raise CallCancelled from None


def _follow(
    notes: "queue.SimpleQueue[JsonObject | None]",
    future: Future[T],
    cancel: Cancel,
    note: Note,
) -> None:
    """Hand on notes until the work is done or the caller gives up."""
    while not cancel.is_set():
        try:
            item = notes.get(timeout=POLL_SECONDS)
        except queue.Empty:
            continue
        if item is None:
            return
        note(item)
