"""The one door through which every tool is called.

Chat, sequence steps, the tool page and the REST API all call `invoke`, so that no path goes
round the checks: permission → approval → arguments → credentials → executor → record.
"""

import logging
import time
from collections.abc import Callable

from config.lib.jsontext import mask, shortened, size_of, storable
from config.lib.types import JsonObject, JsonValue
from registry import health
from registry.context import CallContext
from registry.errors import (
    ApprovalDenied,
    InvalidArguments,
    MissingCredential,
    OutputRejected,
    PermissionRefused,
    ToolError,
    ToolFailed,
)
from registry.executors.base import Output, executor_for
from registry.models import Invocation
from registry.models.invocation import Outcome
from registry.results import Failed, Succeeded, ToolResult
from registry.schemas import validate_arguments
from registry.selectors import Standing, standing_of
from registry.specs import ToolSpec

logger = logging.getLogger(__name__)

LARGEST_OUTPUT = 1_000_000
"""Bytes of JSON a tool may answer with."""

LARGEST_RECORD = 64_000
"""Bytes of arguments or output that an invocation row keeps; more is kept as a preview."""


def invoke(spec: ToolSpec, arguments: JsonValue, context: CallContext) -> ToolResult:
    """Call a tool and record the call; never raise for anything the tool or the caller did.

    `arguments` is whatever the caller sent; it is checked against the tool's input schema and
    completed with the schema's defaults.
    """
    started = time.monotonic()
    env: JsonObject = {}
    details: JsonObject | None = None
    output: JsonValue = None
    error: ToolError | None = None
    standing = standing_of(spec.tool_id)
    try:
        checked = _permitted(spec, arguments, context, standing)
        env = _credentials(spec, context)
        answer = executor_for(spec.kind).execute(spec, checked, _narrowed(context, standing, env))
        details = answer.details
        output = _usable(answer, env)
    except ToolError as problem:
        error = problem
    except Exception as problem:  # the boundary: a tool's bug must not end the turn or the run
        logger.exception("%s failed unexpectedly", spec.label)
        error = ToolFailed(f"{spec.wire_name} failed: {type(problem).__name__}.")
    if error is not None:
        error = _told(error, spec, env)
        details = error.extra.pop("details", details)
    duration_ms = round((time.monotonic() - started) * 1000)
    row = _record(spec, arguments, context, env, output, error, duration_ms)
    if error is None:
        health.record_success(spec, standing)
        return Succeeded(
            output=output, duration_ms=duration_ms, invocation_id=row.pk, details=details
        )
    health.record_failure(spec, error)
    return Failed(error=error, duration_ms=duration_ms, invocation_id=row.pk, details=details)


def permitted(spec: ToolSpec, arguments: JsonValue, context: CallContext) -> JsonObject:
    """Return the checked arguments, or raise what `invoke` would refuse the call with."""
    return _permitted(spec, arguments, context, standing_of(spec.tool_id))


def _permitted(
    spec: ToolSpec, arguments: JsonValue, context: CallContext, standing: Standing | None
) -> JsonObject:
    # Rights and scopes are those of now (`standing`), whatever version the spec is.
    if standing is None or not standing.usable_by(context.user):
        raise PermissionRefused(f"You may not use {spec.wire_name}, or it is no longer available.")
    required = frozenset(standing.required_scopes)
    if context.scopes is not None and (missing := required - context.scopes):
        raise PermissionRefused(
            f"{spec.wire_name} requires the scope {', '.join(sorted(missing))}.",
            "Grant the scope to the agent or the token, or use another tool.",
            missing_scopes=sorted(missing),
        )
    if context.denied(spec.tool_id):
        raise ApprovalDenied(f"This agent is set to deny {spec.wire_name}.")
    if not isinstance(arguments, dict):
        raise InvalidArguments(
            f"The arguments of {spec.wire_name} must be a JSON object.",
            'Send an object such as {"name": "value"}.',
        )
    return validate_arguments(spec.input_schema, {**arguments, **context.presets(spec.tool_id)})


def _credentials(spec: ToolSpec, context: CallContext) -> JsonObject:
    """Return the values of the variables that the tool declares, and of no others."""
    if not spec.env:
        return {}
    values = dict(context.env([variable.name for variable in spec.env]))
    missing = [v.name for v in spec.env if v.required and not values.get(v.name)]
    if missing:
        raise MissingCredential(
            f"{spec.wire_name} needs {', '.join(missing)}, which is not set.",
            missing=missing,
        )
    return {name: value for name, value in values.items() if value}


def _narrowed(context: CallContext, standing: Standing | None, env: JsonObject) -> CallContext:
    """Leave of the circumstances what this one tool may know, and add what it may reach."""
    hosts = tuple(standing.allowed_hosts or ()) if standing else ()
    return context.derive(env=_only(env), allowed_hosts=hosts)


def _only(env: JsonObject) -> Callable[..., JsonObject]:
    return lambda names: {name: env[name] for name in names if name in env}


def _usable(answer: Output, env: JsonObject) -> JsonValue:
    output = mask(storable(answer.value), env.values())
    if (size := size_of(output)) > LARGEST_OUTPUT:
        raise OutputRejected(
            f"The answer has {size:,} bytes; at most {LARGEST_OUTPUT:,} are accepted.",
            "Ask the tool for less: a page, a filter or fewer fields.",
        )
    return output


def _told(error: ToolError, spec: ToolSpec, env: JsonObject) -> ToolError:
    """Name the tool in the error and put secrets that its words repeat out of sight."""
    error.tool = error.tool or spec.label
    error.message = str(mask(storable(error.message), env.values()))
    error.hint = str(mask(storable(error.hint), env.values()))
    details = error.extra.pop("details", None)
    error.extra = mask(storable(error.extra), env.values())
    if details is not None:
        error.extra["details"] = details
    return error


def _record(
    spec: ToolSpec,
    arguments: JsonValue,
    context: CallContext,
    env: JsonObject,
    output: JsonValue,
    error: ToolError | None,
    duration_ms: int,
) -> Invocation:
    return Invocation.objects.create(
        tool_id=spec.tool_id,
        tool_version=spec.version,
        caller=context.caller,
        user=context.user,
        agent_id=context.agent_id,
        turn_id=context.turn_id,
        run_id=context.run_id,
        parent_id=context.parent_id,
        outcome=Outcome.FAILED if error else Outcome.SUCCEEDED,
        phase=error.phase if error else "execute",
        error_code=error.code if error else "",
        error=error.as_dict() if error else None,
        arguments=shortened(mask(storable(arguments), env.values()), LARGEST_RECORD),
        output=shortened(output, LARGEST_RECORD),
        duration_ms=duration_ms,
    )
