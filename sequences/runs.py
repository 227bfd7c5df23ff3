"""Start, and start again, the runs that a person asks for."""

from typing import Literal

from django.db import transaction

from config.lib.errors import Conflict, InvalidInput
from config.lib.types import JsonValue
from registry.context import CallContext
from registry.execution import permitted
from registry.loading import load_spec
from registry.models import Tool
from sequences.approval import require_steps_approved
from sequences.definition import Definition, parse
from sequences.launch import launch, new_run
from sequences.models import Run, RunStep
from sequences.models.run_step import StepStatus
from sequences.sending import enqueue_on_commit

WhichVersion = Literal["original", "current"]


def run_start(
    tool: Tool, arguments: JsonValue, *, context: CallContext, version: int | None = None
) -> Run:
    """Start a run in the worker and return it, queued, without waiting for it.

    Raises the ToolError of the first check of `registry.execution` that fails.
    """
    spec = load_spec(tool, version)
    checked = permitted(spec, arguments, context)
    require_steps_approved(spec, context)
    return launch(spec, checked, context)


def run_retry(
    run: Run,
    *,
    context: CallContext,
    from_step: int | None = None,
    version: WhichVersion = "original",
) -> Run:
    """Start a finished run again with its input, from `from_step` on (empty: from the first).

    The steps before it are taken over with their outputs. The new run has the agent of the old
    one, and only the scopes that both the old run and who asks for the retry have. Values that
    were given to the old run went with its end; those of `context` are taken. Raises
    Conflict while the run goes on, InvalidInput when there is nothing to take over.
    """
    if not run.is_finished:
        raise Conflict("This run is not over yet.", "Wait for its end, or cancel it first.")
    if run.tool is None or run.tool_version is None:
        raise Conflict("This was a test of a draft.", "Test the draft again in the builder.")
    number = run.tool_version.number if version == "original" else run.tool.version
    spec = load_spec(run.tool, number)
    definition = parse(spec.definition)
    before = _steps_before(run, from_step or 1, definition)
    context = context.derive(
        agent_id=run.agent_id, turn_id=run.turn_id, scopes=_common_scopes(run, context)
    )
    arguments = permitted(spec, run.input, context)
    require_steps_approved(spec, context)
    with transaction.atomic():
        again = new_run(spec, arguments, context)
        Run.objects.filter(pk=again.pk).update(retry_of=run)
        RunStep.objects.bulk_create(_copy(row, again) for row in before)
        enqueue_on_commit(again.pk)
    return again


def _common_scopes(run: Run, context: CallContext) -> frozenset[str] | None:
    if run.scopes is None or context.scopes is None:
        return context.scopes if run.scopes is None else frozenset(run.scopes)
    return context.scopes & frozenset(run.scopes)


def _steps_before(run: Run, from_step: int, definition: Definition) -> list[RunStep]:
    """Return the rows to take over; raise InvalidInput where one of them cannot be."""
    if not 1 <= from_step <= len(definition.steps):
        raise InvalidInput(
            f"There is no step {from_step} in this version.",
            f"Retry from step 1 to {len(definition.steps)}.",
        )
    original = parse(run.plan)
    rows = {row.number: row for row in run.steps.all()}
    for step in definition.steps[: from_step - 1]:
        number = step.step_number
        if step not in original.steps:
            raise InvalidInput(
                f"Step {number} is not what it was in this run, so its output cannot be kept.",
                f"Retry from step {number} or before, or with the original version.",
            )
        row = rows.get(number)
        if row is None or (row.status == StepStatus.FAILED and not step.continue_on_failure):
            raise InvalidInput(
                f"Step {number} has no output that could be kept.",
                f"Retry from step {number} or before.",
            )
    return [rows[number] for number in range(1, from_step)]


def _copy(row: RunStep, run: Run) -> RunStep:
    return RunStep(
        run=run,
        number=row.number,
        tool=row.tool,
        tool_name=row.tool_name,
        tool_version=row.tool_version,
        status=StepStatus.FAILED if row.status == StepStatus.FAILED else StepStatus.REUSED,
        input=row.input,
        output=row.output,
        error=row.error,
        message=row.message,
        attempts=row.attempts,
        started_at=row.started_at,
        duration_ms=row.duration_ms,
    )
