"""Do blocking database work beside the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from asgiref.sync import SyncToAsync, sync_to_async
from django.db import connections

P = ParamSpec("P")
T = TypeVar("T")

_database = ThreadPoolExecutor(max_workers=8, thread_name_prefix="async-db")


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run short database work in a thread; its connection goes back to the pool afterwards."""
    return await run_in(_database, partial(work, *args, **kwargs))


async def run_in(pool: Executor, work: Callable[[], T]) -> T:
    """Run work in a thread of `pool`; its connection goes back to the pool afterwards."""
    return await asyncio.get_running_loop().run_in_executor(pool, partial(_returning, work))


def _returning(work: Callable[[], T]) -> T:
    try:
        return work()
    finally:
        connections.close_all()


async def give_up_request_thread() -> None:
    """End the thread in which a request was answered, and give back its database connection.

    Django keeps both until the last byte is sent, which for a stream may be hours: without this,
    as many streams as the pool has connections would stop a process. What still is to be done at
    the end of the request gets a thread anew.
    """
    context = SyncToAsync.thread_sensitive_context.get(None)
    if context is None or context not in SyncToAsync.context_to_thread_executor:
        return
    await sync_to_async(connections.close_all)()
    SyncToAsync.context_to_thread_executor.pop(context).shutdown(wait=False)
