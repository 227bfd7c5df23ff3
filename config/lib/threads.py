"""Do blocking database work beside the event loop."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, ParamSpec, TypeVar

from asgiref.sync import SyncToAsync, ThreadSensitiveContext, sync_to_async
from django.db import connections

from config.lib.carrying import carried

P = ParamSpec("P")
T = TypeVar("T")

MOST_IDLE = 64
"""Threads that are kept for further requests."""

_database = ThreadPoolExecutor(max_workers=8, thread_name_prefix="async-db")


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run short database work in a thread; its connection goes back to the pool afterwards."""
    return await run_in(_database, partial(work, *args, **kwargs))


async def run_in(pool: Executor, work: Callable[[], T]) -> T:
    """Run work in a thread of `pool`; its connection goes back to the pool afterwards."""
    return await asyncio.get_running_loop().run_in_executor(
        pool, partial(_returning, carried(work))
    )


def _returning(work: Callable[[], T]) -> T:
    try:
        return work()
    finally:
        connections.close_all()


class RequestThread(ThreadPoolExecutor):
    """A thread in which one request at a time is answered; it is kept for the next one.

    Django's own handler starts a thread for each request, and another one to wait for its end.
    """

    def __init__(self) -> None:
        super().__init__(max_workers=1, thread_name_prefix="request")
        self._last: Future[Any] | None = None

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Do work behind what was submitted before."""
        work = super().submit(fn, *args, **kwargs)
        self._last = work
        return work

    def give_back(self) -> None:
        """Keep the thread for another request, unless it is still at work or there are enough."""
        if len(_idle) < MOST_IDLE and (self._last is None or self._last.done()):
            _idle.append(self)
        else:
            self.shutdown(wait=False)


_idle: list[RequestThread] = []


@asynccontextmanager
async def request_thread() -> AsyncIterator[None]:
    """Have all that is done by `sync_to_async` inside done in one thread, as Django wants it."""
    thread = _idle.pop() if _idle else RequestThread()
    context = ThreadSensitiveContext(executor=thread)
    async with context:
        try:
            yield
        finally:
            if SyncToAsync.context_to_thread_executor.get(context) is thread:  # not given up
                thread.give_back()


async def give_up_request_thread() -> None:
    """Give back the thread in which a request was answered, and its database connection.

    Both would be kept until the last byte is sent, which for a stream may be hours: without this,
    as many streams as the pool has connections would stop a process. What still is to be done at
    the end of the request gets a thread anew.
    """
    context = SyncToAsync.thread_sensitive_context.get(None)
    if context is None or context not in SyncToAsync.context_to_thread_executor:
        return
    await sync_to_async(connections.close_all)()
    thread = SyncToAsync.context_to_thread_executor.pop(context)
    if isinstance(thread, RequestThread):
        thread.give_back()
    else:
        thread.shutdown(wait=False)
