"""Do one step of a run, unless its row says that it is over."""

import re

from config.lib import traces
from config.lib.errors import DomainError
from config.lib.jsontext import storable
from config.lib.logs import noted
from config.lib.types import JsonObject
from registry.models import Invocation
from sequences.conditions import holds
from sequences.definition import ForEach, Step
from sequences.display import display_success
from sequences.mapping import resolve_inputs
from sequences.models import RunStep
from sequences.models.run import RunStatus
from sequences.models.run_step import StepStatus
from sequences.running.approvals import ask
from sequences.running.attempts import call, name_tool, spec_for
from sequences.running.ends import fail, row_of, skip, succeed
from sequences.running.journey import Journey, Known
from sequences.running.loops import (
    error_of,
    items_of,
    iterated,
    outputs_of,
    standing,
    summary,
    told,
)
from sequences.running.pauses import RunWaits

OF_ITEM = re.compile(r"(?<![\w.])(?:item|index)\b")
"""What makes the condition of a loop one of each iteration, and not of the whole step."""


def play_step(journey: Journey, step: Step, known: Known) -> RunStep:
    """Return the row of the step as it stands: over, waiting, or to be gone on with later."""
    row = journey.rows.get((step.step_number, None))
    if row is not None and row.status not in (StepStatus.RUNNING, StepStatus.WAITING):
        return row
    if row is None:
        row = row_of(journey.run, step)
        if not _is_due(journey, step, row, known, None if _is_per_item(step) else step.when):
            journey.journal.end(row)
            return journey.keep(row)
    if step.approval is not None:
        ask(journey, step.approval, step, row, known)
    elif step.for_each is not None:
        _loop(journey, step.for_each, step, row, known)
    else:
        _call(journey, step, row, known)
    return journey.keep(row)


def _iteration(journey: Journey, step: Step, index: int, known: Known) -> RunStep:
    row = journey.rows.get((step.step_number, index))
    if row is not None and row.status not in (StepStatus.RUNNING, StepStatus.WAITING):
        return row
    if row is None:
        row = row_of(journey.run, step, index)
        if not _is_due(journey, step, row, known, step.when if _is_per_item(step) else None):
            journey.journal.end(row)
            return journey.keep(row)
    _call(journey, step, row, known)
    return journey.keep(row)


def _is_per_item(step: Step) -> bool:
    return step.for_each is not None and OF_ITEM.search(step.when or "") is not None


def _is_due(
    journey: Journey, step: Step, row: RunStep, known: Known, condition: str | None
) -> bool:
    """Say whether a step that was never begun is to be done; if not, its row says why."""
    if step.disabled:
        name_tool(step, row, journey.tools)
        skip(row, "It is disabled.")
        return False
    try:
        if condition is None or holds(condition, known):
            return True
        name_tool(step, row, journey.tools)
        skip(row, f"Skipped, because this does not hold: {condition}")
    except DomainError as problem:
        name_tool(step, row, journey.tools)
        fail(row, step, storable(problem.as_dict()), known=known)
    return False


def _call(journey: Journey, step: Step, row: RunStep, known: Known) -> None:
    """Call the step's tool and write how that ended.

    A sequence that waits for a person leaves the row waiting, and one whose worker is shutting
    down leaves it running.
    """
    calls: list[Invocation] = []
    inputs: JsonObject = {}
    begun_before = not row._state.adding
    try:
        spec = spec_for(step, row, journey.tools)
        row.input = inputs = storable(resolve_inputs(step.input_mapping, known))
        if begun_before and row.error is not None:
            row.attempts += 1  # its worker died after an attempt that had failed
            row.error = None
        journey.journal.begin(row)
        with (
            noted(step_id=row.pk),
            traces.span(f"step {step.step_number}", outfitter__step__id=str(row.pk)),
        ):
            output = call(spec, inputs, step, row, journey, calls)
        succeed(row, output, display_success(step, context=known, inputs=inputs, result=output))
    except RunWaits as waits:
        if waits.stands == RunStatus.QUEUED:
            return
        row.status, row.message = StepStatus.WAITING, waits.message
    except DomainError as problem:
        error = storable(problem.as_dict())
        may_fall_back = not journey.watch.is_cancelled()
        fail(row, step, error, known=known, inputs=inputs, may_fall_back=may_fall_back)
    journey.journal.end(row, calls)


def _loop(journey: Journey, loop: ForEach, step: Step, row: RunStep, known: Known) -> None:
    """Do the step for every item and write how that ended; each iteration has its own row.

    A fallback stands in for single iterations, not for the list of all.
    """
    try:
        name_tool(step, row, journey.tools)
        items = items_of(loop, known)
        row.input = told(items)
        journey.journal.begin(row)
        rows = iterated(journey, step, items, known, _iteration)
        row.status = standing(journey, step, rows, len(items))
        match row.status:
            case StepStatus.RUNNING:
                return
            case StepStatus.WAITING:
                row.message = "An iteration waits for a person."
            case StepStatus.FAILED:
                fail(row, step, error_of(rows, len(items)), known=known, may_fall_back=False)
            case _:
                succeed(row, outputs_of(rows), summary(rows))
    except DomainError as problem:
        fail(row, step, storable(problem.as_dict()), known=known, may_fall_back=False)
    journey.journal.end(row)
