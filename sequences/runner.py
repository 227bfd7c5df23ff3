"""Run a sequence: step by step, each through the one door of `registry.execution`."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from threading import Event
from typing import Any
from uuid import UUID

from django.utils import timezone

from config.lib.errors import DomainError
from config.lib.jsontext import size_of, storable
from config.lib.patience import AWAY, patiently
from config.lib.types import JsonObject, JsonValue
from registry.context import CallContext
from registry.errors import CallCancelled, OutputRejected, ToolError, ToolTimeout, UnknownTool
from registry.execution import LARGEST_OUTPUT, invoke
from registry.loading import load_spec
from registry.models import Invocation
from registry.models.invocation import Caller
from registry.results import Failed, Succeeded, ToolResult
from registry.running import Signal, running, stop_in
from registry.specs import ToolSpec
from registry.standing import standing_of
from sequences.context import context_of
from sequences.definition import Definition, Step, parse
from sequences.display import display_failure, display_success
from sequences.log import execution_log
from sequences.mapping import final_output, resolve_inputs
from sequences.models import Run, RunStep
from sequences.models.run import RunStatus
from sequences.models.run_step import StepStatus
from sequences.recovery import settle
from sequences.run_tools import RunTools
from sequences.states import CANCELLED, Ending, run_claim, run_requeue
from sequences.step_rows import Journal, LeaseLost, step_failed
from sequences.watch import Watch, watching

logger = logging.getLogger(__name__)

LONGEST_PAUSE = 60
"""Seconds that a step waits for its next attempt where it was told when to try again."""

Known = dict[str, Any]
"""What mappings may refer to: `{"initial": {…}, "steps": {name: output}}`."""


def execute(run_id: UUID) -> None:
    """Run a queued run to its end; do nothing when another worker has it or had it."""
    run = patiently(partial(run_claim, run_id))
    if run is not None:
        play(run, cancel=Event(), depth=0)


def play(run: Run, *, cancel: Event, depth: int) -> None:
    """Run a claimed run on in this thread, to its end or until it has to wait.

    `cancel` is its caller's, `depth` counts the sequences around it. It raises nothing: whatever
    happens is told in the run's row. A run that is taken from this worker, or whose database is
    away for long, is left as it is: another worker goes on with it.
    """
    journal = Journal(run)
    try:
        try:
            _play(run, cancel, depth, journal)
        except AWAY as problem:
            logger.warning("Run %s is left to another worker: %s", run.pk, problem)
            journal.flush()  # what is known is kept once the database is back
    except LeaseLost:
        logger.warning("Run %s is another worker's by now", run.pk)
        run.refresh_from_db()
    except AWAY:
        logger.exception("What was known of run %s is lost", run.pk)


def _play(run: Run, cancel: Event, depth: int, journal: Journal) -> None:
    with _signal(run, cancel) as signal, watching(run, signal) as watch:
        try:
            _require_not_stopped(run)
            context = context_of(run).derive(cancel=signal, depth=depth)
            ending = _ending(run, context, watch, journal)
            if ending is None:
                return
            ending = _why_ended(run, ending, signal)
        except DomainError as error:
            ending = Ending(status=RunStatus.FAILED, error=storable(error.as_dict()))
        except (LeaseLost, *AWAY):
            raise
        except Exception:  # the boundary: a run must not stay "running" for ever
            logger.exception("Run %s stopped unexpectedly", run.pk)
            ending = Ending(status=RunStatus.FAILED, error=UNEXPECTED)
    journal.finish(ending)


@contextmanager
def _signal(run: Run, cancel: Event) -> Iterator[Signal]:
    """Yield the signal on which the run ends; a draft that is tested cannot be stopped."""
    if run.tool_id is None:
        yield Signal(cancel)
    else:
        with running.call(run.tool_id, cancel) as signal:
            yield signal


def _require_not_stopped(run: Run) -> None:
    """Raise ToolStopped for a run that waited in the queue while its sequence was stopped."""
    standing = standing_of(run.tool_id) if run.tool_id else None
    if standing is not None and (stop := stop_in(standing)):
        raise stop.error(run.name)


def _why_ended(run: Run, ending: Ending, signal: Signal) -> Ending:
    """Return how a run ended; one that did not get to its end before it was stopped says so."""
    if signal.stop is None or ending.status == RunStatus.SUCCEEDED:
        return ending
    error = signal.stop.error(run.name, running=True)
    return Ending(status=RunStatus.FAILED, error=storable(error.as_dict()))


UNEXPECTED: JsonObject = {
    "code": "run_stopped",
    "message": "The run stopped because of a fault in Outfitter, not in the sequence.",
    "hint": "Retry it; if it stops again, ask the operator to read the worker's log.",
    "extra": {},
}


def _ending(run: Run, context: CallContext, watch: Watch, journal: Journal) -> Ending | None:
    """Return how the run ends, or None when it is no longer this worker's to go on with."""
    definition = parse(run.plan)
    if not settle(run, definition):
        return None
    known: Known = {"initial": run.input, "steps": {}}
    rows = {row.number: row for row in run.steps.all()}
    tools = RunTools(definition)
    for step in definition.steps:
        if watch.is_cancelled():
            return Ending(status=RunStatus.CANCELLED, error=CANCELLED)
        row = rows.get(step.step_number)
        if row is None or row.status == StepStatus.RUNNING:
            if watch.is_handing_over():
                journal.flush()
                run_requeue(run)
                return None
            row = _run_step(run, step, row, known, context, watch, journal, tools)
        if row.status != StepStatus.FAILED:
            if step.store_output_as and row.status != StepStatus.SKIPPED:
                known["steps"][step.store_output_as] = row.output
        elif watch.is_cancelled():
            return Ending(status=RunStatus.CANCELLED, error=CANCELLED)
        elif not step.continue_on_failure:
            return Ending(status=RunStatus.FAILED, error=_error_of_run(row))
    if definition.final_output_mapping is None:
        journal.flush()
    return Ending(status=RunStatus.SUCCEEDED, output=_output(run, definition, known))


def _output(run: Run, definition: Definition, known: Known) -> JsonValue:
    """Return the mapped output, or where none is mapped the log; raise when it is too large."""
    mapped = final_output(definition, known)
    output = execution_log(run) if mapped is None else storable(mapped)
    if (size := size_of(output)) > LARGEST_OUTPUT:
        raise OutputRejected(
            f"The output of the run has {size:,} bytes; at most {LARGEST_OUTPUT:,} are accepted.",
            "Map fewer or smaller values into the final output.",
            tool=run.name,
        )
    return output


def _error_of_run(row: RunStep) -> JsonObject:
    error = row.error or {}
    return {
        **error,
        "message": f"Step {row.number} ({row.tool_name}) failed: {error.get('message')}",
        "extra": {**error.get("extra", {}), "step": row.number},
    }


def _run_step(
    run: Run,
    step: Step,
    row: RunStep | None,
    known: Known,
    context: CallContext,
    watch: Watch,
    journal: Journal,
    tools: RunTools,
) -> RunStep:
    """Run one step and return its row, finished."""
    row = row or RunStep(run=run, number=step.step_number, started_at=timezone.now())
    started = time.monotonic()
    inputs: JsonObject = {}
    calls: list[Invocation] = []
    try:
        spec = _spec_for(step, row, tools)
        inputs = storable(resolve_inputs(step.input_mapping, known))
        row.input = inputs
        journal.begin(row)
        attempt = context.derive(record=calls.append)
        row.output = _call(run, spec, step, row, attempt, watch, journal, calls)
        row.status, row.error = StepStatus.SUCCEEDED, None
        row.message = display_success(step, context=known, inputs=inputs, result=row.output)
    except DomainError as problem:
        row.status = StepStatus.FAILED
        row.error = error = storable(problem.as_dict())
        row.message = display_failure(step, context=known, inputs=inputs, error=error)
    row.duration_ms = round((time.monotonic() - started) * 1000)
    journal.end(row, calls)
    return row


def _spec_for(step: Step, row: RunStep, tools: RunTools) -> ToolSpec:
    """Return the step's tool at its pinned or current version, and name it in the row."""
    row.tool_name = step.tool[:64]
    tool = tools.tool_of(step)
    if tool is not None:
        row.tool, row.tool_name = tool, tool.wire_name
    if tool is None or tool.deleted_at:
        raise UnknownTool(
            f"The tool “{row.tool_name}” no longer exists.",
            f"Choose another for step {step.step_number}, then retry with the current version.",
            tool=row.tool_name,
        )
    spec = load_spec(tool, step.tool_version)
    row.tool_version = spec.version
    return spec


def _call(
    run: Run,
    spec: ToolSpec,
    step: Step,
    row: RunStep,
    context: CallContext,
    watch: Watch,
    journal: Journal,
    calls: list[Invocation],
) -> JsonValue:
    """Return the tool's output, after as many attempts as the step allows; raise its last error.

    Only what may pass by itself is tried again: an error that the operator of the tool would have
    to mend. Wrong arguments or a missing permission stay wrong.
    """
    attempts = step.retry.attempts if step.retry else 1
    while True:
        result = _attempt(spec, step, row, context, watch)
        if isinstance(result, Succeeded):
            return result.output
        if row.attempts >= attempts or result.error.actor != "operator" or watch.is_cancelled():
            raise result.error
        pause = _pause_before_next(step, result.error)
        row.error = storable(result.error.as_dict())
        step_failed(run, row, calls)
        calls.clear()
        watch.pause(pause)
        row.attempts += 1
        journal.begin(row)


def _pause_before_next(step: Step, error: ToolError) -> float:
    """Return the seconds until the next attempt; raise the error where waiting is no use.

    One who was told when to try again (RateLimited, or the service behind the tool) waits so long.
    """
    backoff = step.retry.backoff_seconds if step.retry else 0
    told = error.extra.get("retry_after_seconds") or error.extra.get("retry_after") or 0
    if told > LONGEST_PAUSE:
        raise error
    return max(backoff, told)


def _attempt(
    spec: ToolSpec, step: Step, row: RunStep, context: CallContext, watch: Watch
) -> ToolResult:
    with watch.attempt(step.timeout_seconds) as stop:
        result = invoke(
            spec,
            row.input,
            context.derive(
                caller=Caller.SEQUENCE,
                cancel=stop,
                depth=context.depth + 1,
                run_step_id=row.pk,
            ),
        )
    if isinstance(result, Failed) and isinstance(result.error, CallCancelled):
        return replace(result, error=_why_stopped(spec, step, watch))
    return result


def _why_stopped(spec: ToolSpec, step: Step, watch: Watch) -> ToolError:
    if watch.is_cancelled():
        return CallCancelled("The run was cancelled.", tool=spec.label)
    return ToolTimeout(
        f"{spec.wire_name} did not answer within the step's {step.timeout_seconds} s.",
        "Raise the time limit of this step, or give the tool less to do.",
        tool=spec.label,
    )
