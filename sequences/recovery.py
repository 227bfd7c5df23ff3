"""Decide what becomes of the steps under which a worker died."""

from django.db import transaction
from django.db.models import F

from config.lib.types import JsonObject
from registry.effects import annotations_now
from registry.errors import ToolUnavailable
from registry.loading import load_spec
from registry.models import Tool
from registry.models.tool import ToolKind
from sequences.definition import Definition, Step
from sequences.models import Run, RunStep
from sequences.models.run import RunStatus
from sequences.models.run_step import StepStatus
from sequences.states import held, run_pause


def settle(run: Run, definition: Definition) -> bool:
    """See to the steps that were begun under an older claim of a run; tell whether it may go on.

    A step that may be called twice, or was never called, is left `running` with no lease: it begins
    again (`step_begin`), with one more in `attempts`. So is the row of a loop or of a sequence
    inside, whose own rows say how far it got. Any other is in doubt, and the run then needs
    attention. Call it before the rows are read. Raises LeaseLost.
    """
    steps = {step.step_number: step for step in definition.steps}
    begun = run.steps.filter(status=StepStatus.RUNNING, lease__isnull=False)
    for row in begun.exclude(lease=run.lease).select_related("tool"):
        _settle(row, steps.get(row.number))
    doubtful = run.steps.filter(status=StepStatus.IN_DOUBT).order_by("number", "iteration")
    names = [row.title or f"step {row.number} ({row.tool_name})" for row in doubtful]
    if not names:
        return True
    with transaction.atomic():
        held(run).update(error=_attention(names))
        run_pause(run, RunStatus.ATTENTION)
    return False


def _settle(row: RunStep, step: Step | None) -> None:
    """Take a row from the claim under which it was begun, unless its worker has delivered it."""
    mine = RunStep.objects.filter(pk=row.pk, lease=row.lease, status=StepStatus.RUNNING)
    if _goes_on_inside(row, step):
        mine.update(lease=None)
    elif _may_repeat(row, step):
        mine.update(lease=None, attempts=F("attempts") + 1)
    else:
        mine.update(status=StepStatus.IN_DOUBT, error=IN_DOUBT, message=IN_DOUBT["message"])


def _goes_on_inside(row: RunStep, step: Step | None) -> bool:
    is_loop = step is not None and step.for_each is not None and row.iteration is None
    return is_loop or (row.tool is not None and row.tool.kind == ToolKind.SEQUENCE)


def _may_repeat(row: RunStep, step: Step | None) -> bool:
    """Tell whether the call may be made twice: by the word of its author, or by what the tool is.

    A program is known to do no harm by itself, but the tools that it called may have.
    """
    if row.tool is None or (step is not None and step.repeatable):
        return True  # without a tool nothing was called
    return row.tool.kind != ToolKind.CODE and _is_harmless(row.tool, row.tool_version)


def _is_harmless(tool: Tool, version: int | None) -> bool:
    try:
        known = annotations_now(load_spec(tool, version))
    except ToolUnavailable:
        return False
    return known.read_only or known.idempotent


IN_DOUBT: JsonObject = {
    "code": "step_in_doubt",
    "message": "The worker stopped while this step was at work. Nobody knows if its tool did it.",
    "hint": "Look at what the tool changed, then try it again, mark it as done, or skip it.",
    "extra": {},
}


def _attention(names: list[str]) -> JsonObject:
    what = ", ".join(names)
    return {
        "code": "needs_attention",
        "message": f"The worker stopped in {what}, and nobody knows if it was done.",
        "hint": "Look at what the tool changed, then try it again, mark it as done, or skip it.",
        "extra": {},
    }
