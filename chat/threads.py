"""Run blocking work of a turn beside the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from django.db import connections

P = ParamSpec("P")
T = TypeVar("T")

_database = ThreadPoolExecutor(max_workers=8, thread_name_prefix="chat-db")
_tools = ThreadPoolExecutor(max_workers=64, thread_name_prefix="chat-tool")
"""Tools may run for minutes; a pool of their own keeps them from holding up the short work."""


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run short database work in a thread; its connection goes back to the pool afterwards."""
    return await _run(_database, partial(work, *args, **kwargs))


async def in_tool_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a tool call in a thread; its connection goes back to the pool afterwards."""
    return await _run(_tools, partial(work, *args, **kwargs))


async def _run(pool: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(pool, partial(_returning, work))


def _returning(work: Callable[[], T]) -> T:
    try:
        return work()
    finally:
        connections.close_all()
