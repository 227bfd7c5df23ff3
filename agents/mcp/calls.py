"""Call a tool for an MCP client: beside the event loop, with progress, until it is cancelled."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext

from agents.mcp.asking import answered
from agents.mcp.endpoint import Endpoint, endpoint_context
from agents.mcp.progress import telling
from agents.mcp.results import call_result
from agents.mcp.visits import Visit, visit_of
from config.lib.threads import run_in
from config.lib.types import JsonObject
from registry.context import Progress
from registry.execution import invoke
from registry.results import ToolResult
from registry.specs import ToolSpec

Answer = types.CallToolResult | types.InputRequiredResult

_calls = ThreadPoolExecutor(max_workers=64, thread_name_prefix="mcp-call")
"""Tools may run for minutes; a pool of their own keeps them from holding up anything else."""


async def call_tool(
    ctx: ServerRequestContext[Any],
    endpoint: Endpoint,
    spec: ToolSpec,
    arguments: JsonObject,
    params: types.CallToolRequestParams,
    **changes: Any,
) -> Answer:
    """Call a tool and return what it gave; a call that the client gives up is told to stop.

    `changes` are of the circumstances of its call.
    """
    async with telling(ctx) as progress:
        call = partial(called, ctx, endpoint, spec, arguments, progress=progress, **changes)
        result = await answered(ctx, endpoint, spec, arguments, params, call)
    if isinstance(result, types.InputRequiredResult):
        return result
    return call_result(spec, result, ctx.protocol_version)


async def called(
    ctx: ServerRequestContext[Any],
    endpoint: Endpoint,
    spec: ToolSpec,
    arguments: JsonObject,
    *,
    progress: Progress,
    **changes: Any,
) -> ToolResult:
    """Invoke a tool in a thread and return how it ended; `changes` are of its circumstances."""
    cancel = Event()
    context = endpoint_context(endpoint, progress=progress, cancel=cancel).derive(**changes)
    work = partial(_invoked, visit_of(ctx), spec, arguments, context)
    try:
        return await run_in(_calls, work)
    except asyncio.CancelledError:
        cancel.set()
        raise


def _invoked(visit: Visit, *call: Any) -> ToolResult:
    with visit.changing():
        return invoke(*call)
