"""Call the tool of a step, as often as the step allows."""

import random
from dataclasses import replace

from config.lib.jsontext import storable
from config.lib.types import JsonObject, JsonValue
from registry.errors import CallCancelled, ToolError, ToolTimeout, UnknownTool
from registry.execution import invoke
from registry.loading import load_spec
from registry.models import Invocation, Tool
from registry.models.invocation import Caller
from registry.results import Failed, Succeeded, ToolResult
from registry.specs import ToolSpec
from sequences.artifacts import RunArtifacts
from sequences.definition import Retry, Step
from sequences.models import RunStep
from sequences.models.run import RunStatus
from sequences.run_tools import RunTools
from sequences.running.journey import Journey
from sequences.running.pauses import RunWaits
from sequences.states import CANCELLED
from sequences.step_rows import step_failed

LONGEST_PAUSE = 60
"""Seconds that a step waits at most before its next attempt."""

JITTER = 0.1
"""By which part of itself a pause may be longer, so that runs that failed together part."""


UNKNOWN = "unknown tool"
"""Stands for the name of a tool of which no row is left; its id tells a person nothing."""


def spec_for(step: Step, row: RunStep, tools: RunTools) -> ToolSpec:
    """Return the step's tool at its pinned or current version, and name it in the row."""
    tool = name_tool(step, row, tools)
    if tool is None or tool.deleted_at:
        raise UnknownTool(
            f"The tool “{row.tool_name}” no longer exists.",
            f"Choose another for step {step.step_number}, then retry with the current version.",
            tool=row.tool_name,
        )
    spec = load_spec(tool, step.tool_version)
    row.tool_version = spec.version
    return spec


def name_tool(step: Step, row: RunStep, tools: RunTools) -> Tool | None:
    """Name in the row the tool that the step calls, and return it if there is such a one."""
    tool = tools.tool_of(step)
    row.tool, row.tool_name = tool, tool.wire_name if tool else UNKNOWN
    return tool


def call(
    spec: ToolSpec,
    arguments: JsonObject,
    step: Step,
    row: RunStep,
    journey: Journey,
    calls: list[Invocation],
) -> JsonValue:
    """Return the tool's output, after as many attempts as the step allows; raise its last error.

    The row of the last attempt's call is left in `calls`, to be written with the end of the step.
    Only what may pass by itself is tried again: an error that the operator of the tool would have
    to mend. Wrong arguments or a missing permission stay wrong. Raises RunWaits where the step is
    to be gone on with later, with no `calls`: the tool is a sequence that waits for a person, or
    this worker is shutting down.
    """
    attempts = step.retry.attempts if step.retry else 1
    while True:
        result = _attempt(spec, arguments, step, row, journey, calls)
        if isinstance(result, Succeeded):
            return result.output
        if isinstance(result.error, RunWaits):
            calls.clear()
            raise result.error
        if row.attempts >= attempts or result.error.actor != "operator" or journey.is_stopping():
            raise result.error
        pause = _pause_before_next(step.retry, row.attempts, result.error)
        row.error = storable(result.error.as_dict())
        step_failed(journey.run, row, calls)
        calls.clear()
        journey.watch.pause(pause)
        if journey.watch.is_cancelled():
            raise CallCancelled(CANCELLED["message"], tool=spec.label)
        if journey.halted.is_set():
            raise result.error
        if journey.watch.is_handing_over():
            raise RunWaits(stands=RunStatus.QUEUED)
        row.attempts, row.error = row.attempts + 1, None
        journey.journal.begin(row)


def _pause_before_next(retry: Retry | None, failed: int, error: ToolError) -> float:
    """Return the seconds until the next attempt; raise the error where waiting is no use.

    One who was told when to try again (RateLimited, or the service behind the tool) waits so long.
    """
    backoff = retry.backoff_seconds * retry.backoff_factor ** (failed - 1) if retry else 0
    backoff = min(backoff, LONGEST_PAUSE) * random.uniform(1, 1 + JITTER)  # noqa: S311
    told = error.extra.get("retry_after_seconds") or error.extra.get("retry_after") or 0
    if told > LONGEST_PAUSE:
        raise error
    return float(max(backoff, told))


def _attempt(
    spec: ToolSpec,
    arguments: JsonObject,
    step: Step,
    row: RunStep,
    journey: Journey,
    calls: list[Invocation],
) -> ToolResult:
    context = journey.context
    with journey.watch.attempt(step.timeout_seconds) as stop:
        result = invoke(
            spec,
            arguments,
            context.derive(
                caller=Caller.SEQUENCE,
                cancel=stop,
                depth=context.depth + 1,
                run_step_id=row.pk,
                run_lease=journey.run.lease,
                record=calls.append,
                artifacts=RunArtifacts(journey.run, row, around=context.artifacts),
            ),
        )
    if isinstance(result, Failed) and isinstance(result.error, CallCancelled) and stop.is_set():
        return replace(result, error=_why_stopped(spec, step, journey))
    return result


def _why_stopped(spec: ToolSpec, step: Step, journey: Journey) -> ToolError:
    if journey.watch.is_cancelled():
        return CallCancelled(CANCELLED["message"], tool=spec.label)
    return ToolTimeout(
        f"{spec.wire_name} did not answer within the step's {step.timeout_seconds} s.",
        "Raise the time limit of this step, or give the tool less to do.",
        tool=spec.label,
    )
