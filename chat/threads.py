"""Run tool calls of a turn beside the event loop."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from config.lib.threads import in_thread, run_in

__all__ = ["in_thread", "in_tool_thread"]

P = ParamSpec("P")
T = TypeVar("T")

_tools = ThreadPoolExecutor(max_workers=64, thread_name_prefix="chat-tool")
"""Tools may run for minutes; a pool of their own keeps them from holding up the short work."""


async def in_tool_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a tool call in a thread; its connection goes back to the pool afterwards."""
    return await run_in(_tools, partial(work, *args, **kwargs))
