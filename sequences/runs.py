"""Start, and start again, the runs that a person asks for."""

from typing import Literal, NoReturn

from django.db import transaction

from config.lib.errors import Conflict, InvalidInput
from config.lib.types import JsonObject, JsonValue
from registry.context import CallContext
from registry.execution import permitted
from registry.loading import load_spec
from registry.models import Tool
from sequences.approval import require_steps_approved, require_steps_permitted
from sequences.definition import Definition, Step, parse
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
    require_steps_permitted(spec, context)
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

    The steps before it are taken over with their outputs, and so are branches beside it and items
    of its loop that went well. The new run has the agent of the old
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
    rows = _taken_over(run, from_step or 1, definition)
    context = context.derive(
        agent_id=run.agent_id, turn_id=run.turn_id, scopes=_common_scopes(run, context)
    )
    arguments = permitted(spec, run.input, context)
    require_steps_permitted(spec, context)
    require_steps_approved(spec, context)
    with transaction.atomic():
        again = new_run(spec, arguments, context)
        Run.objects.filter(pk=again.pk).update(retry_of=run)
        for row in rows:
            row.run = again
        RunStep.objects.bulk_create(rows)
        enqueue_on_commit(again.pk)
    return again


def _common_scopes(run: Run, context: CallContext) -> frozenset[str] | None:
    if run.scopes is None or context.scopes is None:
        return context.scopes if run.scopes is None else frozenset(run.scopes)
    return context.scopes & frozenset(run.scopes)


def _taken_over(run: Run, from_step: int, definition: Definition) -> list[RunStep]:
    """Return copies of the rows to take over, numbered as in the definition that is run now.

    Steps before the one retried from must be as they were and have ended. So may steps beside it,
    in other branches of its block: what has not ended there is done again. Of a loop that failed,
    the items that went well are kept. Raises InvalidInput where a row cannot be taken over.
    """
    count = len(definition.steps)
    if not 1 <= from_step <= count:
        raise InvalidInput(
            f"There is no step {from_step} in this version.", f"Retry from step 1 to {count}."
        )
    before = _Before(run)
    retried = definition.steps[from_step - 1]
    copies: list[RunStep] = []
    for step in definition.steps:
        if step.step_number == from_step:
            copies += before.iterations(step)
        elif _is_beside(step, retried):
            copies += before.rows(step)
        elif step.step_number < from_step:
            copies += before.rows(step) or before.missing(step)
    return copies


def _is_beside(step: Step, retried: Step) -> bool:
    """Tell whether a step stands in another branch of the same block."""
    here, there = step.parallel, retried.parallel
    if here is None or there is None:
        return False
    return here.group == there.group and here.branch != there.branch


class _Before:
    """What the steps of an earlier run have left."""

    def __init__(self, run: Run) -> None:
        self._steps = parse(run.plan).steps
        self._rows: dict[int, list[RunStep]] = {}
        for row in run.steps.order_by("number", "iteration"):
            self._rows.setdefault(row.number, []).append(row)

    def rows(self, step: Step) -> list[RunStep]:
        """Return copies of the rows of a step that is as it was and went well; else nothing."""
        old = self._same(step)
        rows = self._rows.get(old.step_number, []) if old else []
        own = next((row for row in rows if row.iteration is None), None)
        may_fail = own is not None and own.status == StepStatus.FAILED and step.continue_on_failure
        if own is None or not (own.status in KEPT or may_fail):
            return []
        return [_copy(row, step) for row in rows]

    def iterations(self, step: Step) -> list[RunStep]:
        """Return copies of the rows of the items that went well in a loop that did not."""
        old = self._same(step)
        if old is None or step.for_each is None or self.rows(step):
            return []
        rows = self._rows.get(old.step_number, [])
        return [
            _copy(row, step) for row in rows if row.iteration is not None and row.status in KEPT
        ]

    def missing(self, step: Step) -> NoReturn:
        """Raise InvalidInput for a step whose output cannot be kept."""
        number = step.step_number
        if self._same(step) is None:
            raise InvalidInput(
                f"Step {number} is not what it was in this run, so its output cannot be kept.",
                f"Retry from step {number} or before, or with the original version.",
            )
        raise InvalidInput(
            f"Step {number} has no output that could be kept.",
            f"Retry from step {number} or before.",
        )

    def _same(self, step: Step) -> Step | None:
        """Return the step as it was in the run, wherever it stood; None where it was another.

        A step with a key may have been moved; how it is called and told makes no difference.
        """
        for old in self._steps:
            keys = {old.key, step.key}
            is_it = len(keys) == 1 if None not in keys else old.step_number == step.step_number
            if is_it and old.model_copy(update=_looks(step)) == step:
                return old
        return None


KEPT = (StepStatus.SUCCEEDED, StepStatus.REUSED, StepStatus.FELL_BACK, StepStatus.SKIPPED)
"""How a step may have ended to be taken over, whatever its definition says of failures."""


def _looks(step: Step) -> JsonObject:
    """Return what may be changed in a step although its output is kept."""
    names = ("step_number", "key", "title", "output_display_success", "output_display_failure")
    return {name: getattr(step, name) for name in names}


def _copy(row: RunStep, step: Step) -> RunStep:
    return RunStep(
        number=step.step_number,
        iteration=row.iteration,
        key=step.key or "",
        title=step.name,
        tool=row.tool,
        tool_name=row.tool_name,
        tool_version=row.tool_version,
        status=StepStatus.REUSED if row.status == StepStatus.SUCCEEDED else row.status,
        input=row.input,
        output=row.output,
        error=row.error,
        message=row.message,
        attempts=row.attempts,
        started_at=row.started_at,
        duration_ms=row.duration_ms,
    )
