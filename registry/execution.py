"""The one door through which every tool is called.

Chat, sequence steps, the tool page and the REST API all call `invoke`, so that no path goes
round the checks: permission → approval → arguments → credentials → embeds → executor → record.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from threading import Event
from uuid import UUID, uuid4

from django.db.models import JSONField, Value

from config.lib import traces
from config.lib.jsontext import shortened, size_of, storable
from config.lib.logs import hide
from config.lib.masking import Masker, log_failure
from config.lib.patience import Answer, patiently
from config.lib.types import JsonObject, JsonValue
from registry import health, metrics
from registry.approval import Effect
from registry.context import CallContext, Inner, ignore_progress, write_now
from registry.embeds import ReadArtifact, resolve_embeds
from registry.errors import (
    ApprovalDenied,
    ApprovalRequired,
    ArtifactNotFound,
    InputNeeded,
    InvalidArguments,
    MissingCredential,
    OutputRejected,
    PermissionRefused,
    RateLimited,
    ToolError,
    ToolFailed,
    ToolStopped,
)
from registry.executors.base import Output, executor_for
from registry.limits import is_worth_a_row, require_within_limit
from registry.media import without_media
from registry.models import Invocation
from registry.models.invocation import Caller, Decision, Outcome
from registry.models.tool import ToolKind, Visibility
from registry.needs import naming_keys
from registry.observing import observed_call
from registry.results import Failed, Succeeded, ToolResult
from registry.running import Signal, running, stop_in
from registry.saved_files import FILES, kept_files, without_files
from registry.schemas import validate_arguments
from registry.specs import ToolSpec
from registry.standing import Standing, standing_of

logger = logging.getLogger(__name__)

LARGEST_OUTPUT = 1_000_000
"""Bytes of JSON a tool may answer with."""

LARGEST_RECORD = 64_000
"""Bytes of arguments or output that an invocation row keeps; more is kept as a preview."""

COMPOSITE = frozenset({ToolKind.SEQUENCE.value, ToolKind.CODE.value})
"""Kinds that call other tools: each of those calls takes its own variables from the context."""


_REFUSALS = (RateLimited, ToolStopped, PermissionRefused, ApprovalDenied, InvalidArguments)
"""What a call may be refused with before its tool hears of it."""


def invoke(spec: ToolSpec, arguments: JsonValue, context: CallContext) -> ToolResult:
    """Call a tool and record the call; never raise for anything the tool or the caller did.

    `arguments` is whatever the caller sent; it is checked against the tool's input schema and
    completed with the schema's defaults.
    """
    invocation_id = _id_of(spec, context)
    with observed_call(spec, context, invocation_id) as span:
        if spec.kind == ToolKind.BUILTIN:  # over before anybody could stop it
            result = _invoked(spec, arguments, context, Signal(context.cancel), invocation_id)
        else:
            with running.call(spec.tool_id, context.cancel) as signal:
                result = _invoked(spec, arguments, context, signal, invocation_id)
        if isinstance(result, Failed):
            span.failed(result.error.code)
        return result


def _invoked(
    spec: ToolSpec,
    arguments: JsonValue,
    context: CallContext,
    signal: Signal,
    invocation_id: UUID,
) -> ToolResult:
    started = time.monotonic()
    masker = _masker_of(context.given.values())
    details: JsonObject | None = None
    output: JsonValue = None
    error: ToolError | None = None
    standing = _asked(context, partial(standing_of, spec.tool_id))
    cost, was_asked = None, False
    try:
        checked, was_asked = _asked(
            context, partial(_permitted, spec, arguments, context, standing)
        )
        env = _asked(context, partial(_credentials, spec, context, standing))
        masker = _masker_of([*env.values(), *context.given.values()])
        if standing is not None:
            require_within_limit(spec, context, standing)
        checked = resolve_embeds(checked, raw=spec.raw_string_args, read=_reader(context))
        lent: set[str] = set()
        inside = _narrowed(spec, context, standing, env, masker).derive(
            invocation_id=invocation_id,
            inner=_inner(context, invocation_id, lent) if spec.kind == ToolKind.CODE else None,
            cancel=signal,
        )
        cost = standing.cost_per_call if standing else None
        try:
            with traces.span(f"execute {spec.kind}", outfitter__tool__kind=spec.kind):
                answer = executor_for(spec.kind).execute(spec, checked, inside)
        finally:
            if lent:  # a program may put together what its tools gave it in parts
                masker = Masker({*lent, *context.given.values()})
        details = answer.details
        output = _usable(answer, masker)
    except ToolError as problem:
        error = problem
    except Exception as problem:  # the boundary: a tool's bug must not end the turn or the run
        log_failure(logger, masker, "%s failed unexpectedly", spec.label)
        error = ToolFailed(f"{spec.wire_name} failed: {type(problem).__name__}.")
    if error is not None and signal.stop is not None:
        details = error.extra.get("details", details)
        error = signal.stop.error(spec.wire_name, running=True)
        metrics.ENDED.labels(spec.kind).inc()
    if error is not None:
        error, details = _told(naming_keys(error, spec), spec, masker, details)
    details, files = without_files(details)
    details = masker.value(storable(details))
    duration_ms = round((time.monotonic() - started) * 1000)
    metrics.call_ended(spec.kind, error.code if error else "", time.monotonic() - started)
    if error is not None and not _is_recorded(spec, context, error):
        return Failed(error=error, duration_ms=duration_ms, invocation_id=None, details=details)
    row = _record(
        invocation_id,
        spec,
        arguments,
        context,
        masker,
        output,
        error,
        duration_ms,
        cost,
        was_asked=was_asked,
    )
    if error is None:
        _asked(context, partial(health.record_success, spec, standing))
        if files:
            saved = kept_files(files, context.artifacts, masker, invocation_id=row.pk)
            details = {**(details or {}), FILES: saved}
        return Succeeded(
            output=output, duration_ms=duration_ms, invocation_id=row.pk, details=details
        )
    _asked(context, partial(health.record_failure, spec, error))
    return Failed(error=error, duration_ms=duration_ms, invocation_id=row.pk, details=details)


def _masker_of(secrets: Iterable[str]) -> Masker:
    """Return what hides secrets, from the lines that are logged during the call too."""
    masker = Masker(secrets)
    hide(masker)
    return masker


def _asked(context: CallContext, ask: Callable[[], Answer]) -> Answer:
    """Ask the database; a run outlives its restart, and anybody else is told that it is away."""
    return patiently(ask) if context.run_id else ask()


def permitted(spec: ToolSpec, arguments: JsonValue, context: CallContext) -> JsonObject:
    """Return the checked arguments, or raise what `invoke` would refuse the call with.

    It counts as a call: what is permitted here is started.
    """
    standing, started = standing_of(spec.tool_id), time.monotonic()
    try:
        checked, _ = _permitted(spec, arguments, context, standing)
        if standing is not None:
            require_within_limit(spec, context, standing)
    except ToolError as error:
        _record_refusal(spec, arguments, context, error, time.monotonic() - started)
        raise
    return checked


def _record_refusal(
    spec: ToolSpec, arguments: JsonValue, context: CallContext, error: ToolError, seconds: float
) -> None:
    """Record a call that was not started in the background, as `invoke` records it."""
    masker = Masker(context.given.values())
    told, _ = _told(naming_keys(error, spec), spec, masker, None)
    metrics.call_ended(spec.kind, told.code, seconds)
    if _is_recorded(spec, context, told):
        duration_ms = round(seconds * 1000)
        _record(uuid4(), spec, arguments, context, masker, None, told, duration_ms, None)


def _permitted(
    spec: ToolSpec, arguments: JsonValue, context: CallContext, standing: Standing | None
) -> tuple[JsonObject, bool]:
    """Return the checked arguments, and whether the agent's settings ask about the tool."""
    # Rights and scopes are those of now (`standing`), whatever version the spec is.
    if standing is None or not _may_use(context, standing):
        raise PermissionRefused(f"You may not use {spec.wire_name}, or it is no longer available.")
    if stop := stop_in(standing):
        raise stop.error(spec.wire_name)
    if spec.version in standing.blocked_versions:
        raise PermissionRefused(
            f"Version {spec.version} of {spec.wire_name} was refused by a reviewer.",
            "Use its current version.",
        )
    if standing.visibility == Visibility.PUBLIC and not _trusted(spec, context, standing):
        raise PermissionRefused(
            f"Version {spec.version} of {spec.wire_name} was never approved.",
            "Use its current version, or ask a reviewer.",
        )
    required = frozenset(standing.required_scopes)
    scopes = context.granted(context.scopes) if required else None
    if scopes is not None and (missing := required - scopes):
        raise PermissionRefused(
            f"{spec.wire_name} requires the scope {', '.join(sorted(missing))}.",
            "Grant the scope to the agent or the token, or use another tool.",
            missing_scopes=sorted(missing),
        )
    verdict = context.policy(spec)
    if verdict.effect == Effect.DENY:
        raise ApprovalDenied(verdict.reason or f"This agent is set to deny {spec.wire_name}.")
    if not isinstance(arguments, dict):
        raise InvalidArguments(
            f"The arguments of {spec.wire_name} must be a JSON object.",
            'Send an object such as {"name": "value"}.',
        )
    checked = validate_arguments(spec.input_schema, {**arguments, **context.presets(spec.tool_id)})
    if verdict.effect == Effect.ASK and not context.approved:
        # behind the checks: nobody is asked about a call that could not be made
        raise ApprovalRequired(
            f"A person has to approve {spec.wire_name} first.", reason=verdict.reason
        )
    return checked, verdict.effect == Effect.ASK


def _may_use(context: CallContext, standing: Standing) -> bool:
    """Say whether a call may be made at all; a reviewer tries what waits, by calling it directly.

    What an agent, a sequence or a program of somebody's leads a reviewer to is not such a call.
    """
    user = context.user
    return standing.open_to(user) or (_is_trial(context) and standing.open_to_trial(user))


def _trusted(spec: ToolSpec, context: CallContext, standing: Standing) -> bool:
    if standing.is_made_by(context.user) or standing.vouches_for(spec.version):
        return True
    public = standing.visibility == Visibility.PUBLIC
    return public and _is_trial(context) and context.user.has_perm("registry.change_package")


def _is_trial(context: CallContext) -> bool:
    """Say whether a person calls this one tool, with keys of their own."""
    direct = context.caller in (Caller.BROWSER, Caller.REST)
    return direct and context.depth == 0 and context.agent_id is None and context.run_id is None


def _credentials(spec: ToolSpec, context: CallContext, standing: Standing | None) -> JsonObject:
    """Return the values of the variables that the tool declares, and of no others.

    A tool that a team shares may be called before it was reviewed, but nobody lends it a key: its
    maker decides where it goes, and may change that at any time.
    """
    if not spec.env:
        return {}
    if standing is None or not _trusted(spec, context, standing):
        raise PermissionRefused(
            f"{spec.wire_name} wants {', '.join(v.name for v in spec.env)}. It is somebody else's "
            "and this version of it was not approved, so it is given nobody's keys.",
            "Ask a reviewer to approve it, or make a tool of your own like it.",
        )
    values = dict(context.env([variable.name for variable in spec.env]))
    missing = [v.name for v in spec.env if v.required and not values.get(v.name)]
    if missing:
        raise MissingCredential(
            f"{spec.wire_name} needs {', '.join(missing)}, which is not set.",
            missing=missing,
        )
    return {name: value for name, value in values.items() if value}


def _reader(context: CallContext) -> ReadArtifact:
    def read(name: str, version: int | None) -> str:
        if context.artifacts is None:
            raise ArtifactNotFound(
                "Only a conversation has artifacts, and this call belongs to none.",
                "Write the text itself.",
            )
        return context.artifacts.read(name, version)

    return read


def _id_of(spec: ToolSpec, context: CallContext) -> UUID:
    """Return the id of a call: that of a program is the same however often it is paused."""
    if spec.kind == ToolKind.CODE and context.replay is not None:
        return context.replay.invocation_id
    return uuid4()


def _narrowed(
    spec: ToolSpec,
    context: CallContext,
    standing: Standing | None,
    env: JsonObject,
    masker: Masker,
) -> CallContext:
    """Leave of the circumstances what this one tool may know, and add what it may reach."""

    def progress(note: JsonObject) -> None:
        context.progress(masker.value(storable(note)))

    hosts = tuple(standing.allowed_hosts or ()) if standing else ()
    context = context.derive(
        allowed_hosts=hosts,
        progress=progress if masker else context.progress,
        # a program that something else runs is never paused
        replay=context.replay if spec.kind == ToolKind.CODE else None,
    )
    return context if spec.kind in COMPOSITE else context.derive(env=_only(env), given={})


def _inner(context: CallContext, parent_id: UUID, lent: set[str]) -> Inner:
    """Return how a program calls tools: by this same door, with the rights of its own call.

    The values of variables that its tools read are added to `lent`.
    """

    def env(names: Sequence[str]) -> Mapping[str, str]:
        values = context.env(names)
        lent.update(values.values())
        return values

    def call(
        spec: ToolSpec,
        arguments: JsonObject,
        cancel: Event,
        *,
        approved: bool = False,
        denied: ApprovalDenied | None = None,
        call_id: str = "",
    ) -> ToolResult:
        inside = context.derive(
            caller=Caller.CODE,
            approved=approved,  # who approves a program has not seen what it will call
            env=env,
            parent_id=parent_id,
            record=write_now,  # the row of the program may be written much later
            depth=context.depth + 1,
            cancel=cancel,
            call_id=call_id,
            progress=ignore_progress,
        )
        if denied is not None:
            return refused(spec, arguments, inside, denied)
        return invoke(spec, arguments, inside)

    return call


def refused(
    spec: ToolSpec, arguments: JsonObject, context: CallContext, denied: ApprovalDenied
) -> Failed:
    """Write down that a person denied a call, and return that as its result."""
    masker = Masker(context.given.values())
    error, _ = _told(denied, spec, masker, None)
    row = _record(uuid4(), spec, arguments, context, masker, None, error, 0, None)
    return Failed(error=error, duration_ms=0, invocation_id=row.pk)


def _only(env: JsonObject) -> Callable[..., JsonObject]:
    return lambda names: {name: env[name] for name in names if name in env}


def _usable(answer: Output, masker: Masker) -> JsonValue:
    output = masker.value(storable(answer.value))
    if (size := size_of(output)) > LARGEST_OUTPUT:
        raise OutputRejected(
            f"The answer has {size:,} bytes; at most {LARGEST_OUTPUT:,} are accepted.",
            "Ask the tool for less: a page, a filter or fewer fields.",
        )
    return output


def _told(
    error: ToolError, spec: ToolSpec, masker: Masker, details: JsonObject | None
) -> tuple[ToolError, JsonObject | None]:
    """Name the tool in the error and put secrets that its words repeat out of sight.

    Returns the error and the details that it brought, which stand beside it from here on.
    """
    details = error.extra.pop("details", details)
    error.tool = error.tool or spec.label
    error.message = masker.text(str(storable(error.message)))
    error.hint = masker.text(str(storable(error.hint)))
    error.extra = masker.value(storable(error.extra))
    return error, details


def _recorded_arguments(arguments: JsonValue, masker: Masker) -> JsonValue | Value:
    """Return what a row keeps of the arguments; null is a value too, and not their absence."""
    if arguments is None:
        return Value(None, JSONField())
    return shortened(masker.value(storable(arguments)), LARGEST_RECORD)


def _recorded(output: JsonValue) -> JsonValue:
    """Return what a row keeps: of pictures and sounds that are too large for it, words."""
    whole = size_of(output) <= LARGEST_RECORD
    return output if whole else shortened(without_media(output), LARGEST_RECORD)


def _record(
    invocation_id: UUID,
    spec: ToolSpec,
    arguments: JsonValue,
    context: CallContext,
    masker: Masker,
    output: JsonValue,
    error: ToolError | None,
    duration_ms: int,
    cost: Decimal | None,
    *,
    was_asked: bool = False,
) -> Invocation:
    row = Invocation(
        pk=invocation_id,
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
        arguments=_recorded_arguments(arguments, masker),
        output=_recorded(output),
        duration_ms=duration_ms,
        decision=_decision(error, context, was_asked=was_asked),
        cost=cost,
    )
    context.record(row)
    return row


def _is_recorded(spec: ToolSpec, context: CallContext, error: ToolError) -> bool:
    """Say whether a failed call gets a row: every one that reached the tool, and of those that
    were refused the first of each minute, since nobody slows down who floods us."""
    if isinstance(error, InputNeeded):
        return False  # nothing was called yet
    phase: str = error.phase  # a stop may end a call that ran
    if not isinstance(error, _REFUSALS) or phase == "execute":
        return True
    recorded = is_worth_a_row(error.code, spec.tool_id, context)
    metrics.REFUSED.labels(spec.kind, error.code, "yes" if recorded else "no").inc()
    return recorded


def _decision(error: ToolError | None, context: CallContext, *, was_asked: bool) -> Decision:
    """Return what became of the request to call; a call that was let through may still fail.

    Of what an approved sequence calls, only the tools that were asked about count as approved.
    """
    match error:
        case ToolStopped():
            return Decision.STOPPED
        case RateLimited(phase="permission"):
            return Decision.LIMITED
        case PermissionRefused():
            return Decision.REFUSED
        case ApprovalDenied():
            return Decision.DENIED
    is_approved = context.approved and (was_asked or context.depth == 0)
    return Decision.APPROVED if is_approved else Decision.ALLOWED
