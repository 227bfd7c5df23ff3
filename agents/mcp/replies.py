"""Take what a person answered to a question of a call."""

from dataclasses import replace
from typing import Any

import mcp_types as types

from agents.mcp.endpoint import Endpoint, endpoint_context
from agents.mcp.programs import program_answered
from agents.mcp.request_state import CallState
from agents.mcp.visits import Visit
from config.lib.errors import Conflict, DomainError, InvalidInput
from config.lib.types import JsonObject
from registry.authoring import asks_people
from registry.errors import ApprovalDenied, CallCancelled, MissingCredential, ToolError
from registry.execution import refused
from registry.results import Failed
from registry.specs import ToolSpec

Taken = tuple[CallState, Failed | None]
"""How the call goes on, and how it ended where it does not."""


def taken(
    visit: Visit,
    spec: ToolSpec,
    arguments: JsonObject,
    state: CallState,
    reply: types.ElicitResult,
) -> Taken:
    """Do what an answer says: let the call through, refuse it, or answer its run.

    An answer that does not fit the form leaves its question open: the state says what is wrong.
    """
    with visit.changing():
        match state.asked:
            case "approval":
                return _decided(visit.endpoint, spec, arguments, state, reply)
            case "run":
                return _run_answered(visit.endpoint, spec, state, reply)
            case "program":
                return _program_answered(state, reply)
        return _visited(spec, state, reply)


def is_settled(endpoint: Endpoint, spec: ToolSpec, state: CallState, error: ToolError) -> bool:
    """Say whether what a person was sent to a page for is done there."""
    if isinstance(error, MissingCredential):
        names = list(error.extra.get("missing") or ())
        values = endpoint_context(endpoint).env(names)
        return all(values.get(name) for name in names)
    return not asks_people(spec.kind).asks(endpoint.bearer.user, state.request)


def cancel_run(endpoint: Endpoint, spec: ToolSpec, state: CallState) -> None:
    """Cancel the run of a call that the client gave up while a person was asked."""
    if state.run:
        asks_people(spec.kind).cancel(endpoint.bearer.user, state.run)


def _decided(
    endpoint: Endpoint,
    spec: ToolSpec,
    arguments: JsonObject,
    state: CallState,
    reply: types.ElicitResult,
) -> Taken:
    if reply.action == "accept":
        return replace(state, asked="", approved=True), None
    if reply.action == "decline":
        error = ApprovalDenied(
            f"A person did not let {spec.wire_name} run.",
            "Do not call it again for this: ask what they want instead.",
        )
        return state, refused(spec, arguments, endpoint_context(endpoint), error)
    return state, _ended(
        CallCancelled(f"Nobody said whether {spec.wire_name} may run.", "Call it again to ask.")
    )


def _run_answered(
    endpoint: Endpoint, spec: ToolSpec, state: CallState, reply: types.ElicitResult
) -> Taken:
    if reply.action == "cancel":
        return state, _ended(_left(spec, state))
    author = asks_people(spec.kind)
    approved = reply.action == "accept"
    values: dict[str, Any] | None = (reply.content or None) if approved else None
    again = replace(state, asked="", problem="")
    try:
        author.answer(endpoint.bearer.user, state.request, approved=approved, values=values)
    except InvalidInput as problem:
        return replace(again, problem=problem.message, tries=state.tries + 1), None
    except Conflict:  # it was answered on its page: the call goes on with what was said there
        return again, None
    except DomainError as problem:
        return state, _ended(ToolError(problem.message, problem.hint))
    return again, None


def _program_answered(state: CallState, reply: types.ElicitResult) -> Taken:
    if reply.action == "cancel":
        error = CallCancelled(
            "Nobody said whether the program may go on; what it did so far is done.",
            "Look at its calls before you run it again.",
        )
        return state, _ended(error)
    return program_answered(state, reply), None


def _visited(spec: ToolSpec, state: CallState, reply: types.ElicitResult) -> Taken:
    """Go on after somebody agreed to go to a page; what they did there shows when it is called."""
    if reply.action == "accept":
        return replace(state, asked="", tries=state.tries + 1), None
    if state.run:
        return state, _ended(_left(spec, state))
    return state, _ended(
        MissingCredential(f"What {spec.wire_name} needs was not given.", "Set it, then call again.")
    )


def _left(spec: ToolSpec, state: CallState) -> CallCancelled:
    return CallCancelled(
        f"{spec.wire_name} waits for an answer that was not given; nothing is lost.",
        "It goes on once it is answered on the page of the run.",
        run=state.run,
    )


def _ended(error: ToolError) -> Failed:
    return Failed(error=error, duration_ms=0, invocation_id=None)
