"""Ask a person because of a call, as the client's protocol revision does it, and go on then.

In the handshake revisions the server asks on the call's own stream and waits. Since 2026-07-28 the
call ends with the question, and the client makes it again with the answer and with the sealed
state. A client that cannot ask a person is told where the question can be answered.
"""

import asyncio
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS, is_version_at_least
from pydantic import ValidationError
from starlette.datastructures import URL

from agents.mcp.endpoint import Endpoint
from agents.mcp.programs import program_question, replay_of
from agents.mcp.questions import Question, elicitation, question_of
from agents.mcp.replies import cancel_run, is_settled, taken
from agents.mcp.request_state import ASK_SECONDS, CallState, refused_state, take_once
from agents.mcp.visits import visit_of
from config.lib.threads import in_thread
from config.lib.types import JsonObject
from registry.errors import ApprovalDenied, ProgramPaused
from registry.models.tool import ToolKind
from registry.results import Failed, ToolResult
from registry.specs import ToolSpec

MOST_TRIES = 3
"""Answers that do not fit before the call ends."""

LOOK_SECONDS = 2.0
"""How often is looked whether a page that a person went to was filled in."""


class Call(Protocol):
    """Makes a call, with these changes of its circumstances."""

    async def __call__(self, **changes: Any) -> ToolResult:
        """Return how it ended."""


async def answered(
    ctx: ServerRequestContext[Any],
    endpoint: Endpoint,
    spec: ToolSpec,
    arguments: JsonObject,
    params: types.CallToolRequestParams,
    call: Call,
) -> ToolResult | types.InputRequiredResult:
    """Make a call, ask a person what it needs, and return how it ended or what is asked."""
    state = CallState.of(params.request_state, spec)
    reply = _reply(params, state.key) if state.asked else None
    take = partial(taken, visit_of(ctx), spec, arguments)
    if reply is not None:
        asked_before = state
        if reply.action != "cancel":
            await in_thread(take_once, state)
        state, ended = await in_thread(take, state, reply)
        if ended is not None:
            return _told_where(ctx, ended, asked_before)
    while True:
        pausable = await _pausable(ctx, endpoint, spec, state)
        result = await call(
            call_id=state.call_id, approved=state.approved, begun=state.begun, **pausable
        )
        if not isinstance(result, Failed):
            return result
        question, result = await _question(endpoint, spec, arguments, state, result)
        if question is None:
            return result
        state = question.asked_in(state)
        if not _may_ask(ctx, endpoint, question) or state.tries >= MOST_TRIES:
            return _told_where(ctx, result, state)
        asked = elicitation(question, state, site=_site(ctx))
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return types.InputRequiredResult(
                input_requests={state.key: asked}, request_state=state.text()
            )
        try:
            reply = await _elicited(ctx, asked)
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True):
                await in_thread(cancel_run, endpoint, spec, state)
            raise
        if reply is None:
            return _told_where(ctx, result, state)
        if reply.action == "accept" and state.asked == "page":
            await _filled_in(endpoint, spec, state, result)
        asked_before = state
        state, ended = await in_thread(take, state, reply)
        if ended is not None:
            return _told_where(ctx, ended, asked_before)


def _reply(params: types.CallToolRequestParams, key: str) -> types.ElicitResult:
    """Return the answer that came with a call which is made again."""
    reply = (params.input_responses or {}).get(key)
    if not isinstance(reply, types.ElicitResult):
        raise refused_state()
    return reply


def _may_ask(ctx: ServerRequestContext[Any], endpoint: Endpoint, question: Question) -> bool:
    """Say whether a person can be asked through this client.

    Nobody sits behind the client that an agent itself signs in with: it would approve its own
    calls.
    """
    if question.form is not None:
        return _may_show_forms(ctx, endpoint)
    able = _elicitation(ctx, endpoint)
    return able is not None and able.url is not None and _speaks(ctx, "2025-11-25")


def _may_show_forms(ctx: ServerRequestContext[Any], endpoint: Endpoint) -> bool:
    able = _elicitation(ctx, endpoint)
    if able is None:
        return False
    return (able.form is not None or able.url is None) and _speaks(ctx, "2025-06-18")


def _elicitation(
    ctx: ServerRequestContext[Any], endpoint: Endpoint
) -> types.ElicitationCapability | None:
    """Return how a person can be asked through this client; None where that is not at all."""
    able = ctx.session.client_capabilities
    if able is None or endpoint.bearer.agent_id is not None:
        return None
    is_modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
    return able.elicitation if is_modern or ctx.session.can_send_request else None


async def _pausable(
    ctx: ServerRequestContext[Any], endpoint: Endpoint, spec: ToolSpec, state: CallState
) -> dict[str, Any]:
    """Return what lets the calls of a program wait for a person, where one can be asked."""
    if spec.kind != ToolKind.CODE or not _may_show_forms(ctx, endpoint):
        return {}
    return {"replay": await in_thread(replay_of, state.call_id)}


async def _question(
    endpoint: Endpoint, spec: ToolSpec, arguments: JsonObject, state: CallState, failed: Failed
) -> tuple[Question | None, Failed]:
    """Return what a person is asked so that a call can go on, and how it ends where nobody is."""
    if not isinstance(failed.error, ProgramPaused):
        return question_of(failed.error, spec, arguments, endpoint), failed
    question = await in_thread(program_question, endpoint, state, failed)
    hint = "Call the tools that have to wait directly, outside of a program."
    error = ProgramPaused(failed.error.message, hint)
    return question, replace(failed, error=error, details=None)


def _speaks(ctx: ServerRequestContext[Any], version: str) -> bool:
    return is_version_at_least(ctx.protocol_version, version)


async def _elicited(
    ctx: ServerRequestContext[Any], asked: types.ElicitRequest
) -> types.ElicitResult | None:
    """Ask on the stream of the call; None where nobody answers in time or the client cannot."""
    try:
        return await ctx.session.send_request(
            asked,
            types.ElicitResult,
            request_read_timeout_seconds=ASK_SECONDS,
            metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
        )
    except (MCPError, ValidationError):
        return None


async def _filled_in(endpoint: Endpoint, spec: ToolSpec, state: CallState, result: Failed) -> None:
    """Wait until the page that a person went to was filled in, but not for ever."""
    with anyio.move_on_after(ASK_SECONDS):
        while not await in_thread(is_settled, endpoint, spec, state, result.error):
            await anyio.sleep(LOOK_SECONDS)


def _told_where(ctx: ServerRequestContext[Any], result: Failed, state: CallState) -> Failed:
    """Return a failure that says where a person can do what is missing."""
    error, page = result.error, _site(ctx) + state.page
    if isinstance(error, ApprovalDenied):
        return result  # a person has said what they want
    error.extra["page"] = page
    if page not in error.hint:
        error.hint = f"{error.hint} See {page}".strip()
    return result


def _site(ctx: ServerRequestContext[Any]) -> str:
    url: URL = ctx.request.url  # type: ignore[union-attr]  # over HTTP there always is a request
    return f"{url.scheme}://{url.netloc}"
