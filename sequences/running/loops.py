"""Do a step once for each item of a list, a few at a time."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from threading import Event

from config.lib.errors import InvalidInput
from config.lib.jsontext import shortened, size_of, storable
from config.lib.types import JsonObject, JsonValue
from registry.errors import CallCancelled, OutputRejected
from registry.execution import LARGEST_OUTPUT, LARGEST_RECORD
from registry.schema_messages import type_of
from sequences.definition import ForEach, Step
from sequences.mapping import resolve_inputs
from sequences.models import RunStep
from sequences.models.run_step import OPEN, StepStatus
from sequences.running.journey import WITHOUT_OUTPUT, Journey, Known
from sequences.running.threads import share

Iteration = Callable[[Journey, Step, int, Known], RunStep]
"""Does one iteration, with its `item` and `index`, and returns its row."""


class LoopFailed(InvalidInput):
    """The loop of a step cannot be gone through."""

    code = "loop_failed"
    default_hint = "Map a list that the loop can go through."


def items_of(loop: ForEach, known: Known) -> list[JsonValue]:
    """Return what the loop goes through; raise LoopFailed, or MappingFailed as any input does."""
    items = resolve_inputs({"forEach": loop.items}, known)["forEach"]
    if not isinstance(items, list):
        raise LoopFailed(f"The loop needs a list, but got {type_of(items)}.")
    if len(items) > loop.max_items:
        raise LoopFailed(
            f"The list has {len(items):,} items; this loop takes at most {loop.max_items:,}.",
            "Raise the loop's limit (up to 1,000), or take fewer items.",
        )
    return items


def told(items: list[JsonValue]) -> JsonObject:
    """Return what the row of a loop shows as its input."""
    return {"items": shortened(storable(items), LARGEST_RECORD)}


def iterated(
    journey: Journey, step: Step, items: list[JsonValue], known: Known, iteration: Iteration
) -> list[RunStep]:
    """Do the iterations that are not over yet, and return the rows of all that were begun.

    After one that fails for good, or when the run stops, no other is begun. Rows that are over
    under an earlier claim are taken over. Raises OutputRejected as soon as the outputs are too
    large together.
    """
    rows: dict[int, RunStep] = {}
    sizes: dict[int, int] = {}
    failed = Event()

    def iterate(going: Journey, index: int, item: JsonValue) -> None:
        if failed.is_set() or (going.ended(step, index) is None and going.why_stop()):
            return
        row = rows[index] = iteration(going, step, index, {**known, "item": item, "index": index})
        if row.status == StepStatus.FAILED and not _goes_on(step):
            failed.set()
        if row.status not in (*OPEN, *WITHOUT_OUTPUT):
            sizes[index] = size_of(row.output)
            _require_room(sum(tuple(sizes.values())))

    def iterate_beside(index: int, item: JsonValue) -> None:
        with journey.beside() as going:
            iterate(going, index, item)

    at_once = min(step.for_each.parallel if step.for_each else 1, len(items))
    if at_once > 1:
        share((partial(iterate_beside, *each) for each in enumerate(items)), at_once=at_once)
    else:
        for index, item in enumerate(items):
            iterate(journey, index, item)
    return [row for _, row in sorted(rows.items())]


def _goes_on(step: Step) -> bool:
    """Tell whether the loop goes on when an iteration fails, with another value in its place."""
    return step.continue_on_failure or step.fallback is not None


def standing(journey: Journey, step: Step, rows: list[RunStep], count: int) -> StepStatus:
    """Say where a loop stands: succeeded, failed by an iteration, waiting, or still running.

    It runs when another worker will go on with it. Raises CallCancelled when nobody will.
    """
    if journey.watch.is_cancelled():
        raise CallCancelled("The run was cancelled.")
    statuses = {row.status for row in rows}
    if StepStatus.FAILED in statuses and not _goes_on(step):
        return StepStatus.FAILED
    if len(rows) < count or StepStatus.RUNNING in statuses:
        if journey.halted.is_set():
            raise CallCancelled("Another branch failed.")
        return StepStatus.RUNNING
    return StepStatus.WAITING if statuses & set(OPEN) else StepStatus.SUCCEEDED


def error_of(rows: list[RunStep], count: int) -> JsonObject:
    """Return the error of the first iteration that failed, as one of the step."""
    row = next(row for row in rows if row.status == StepStatus.FAILED)
    error, place = row.error or {}, row.iteration or 0
    return {
        **error,
        "message": f"Item {place + 1} of {count}: {error.get('message')}",
        "extra": {**error.get("extra", {}), "iteration": place},
    }


def summary(rows: list[RunStep]) -> str:
    """Say in a sentence what became of the items; the message of each stands in its own row."""
    said = f"{len(rows):,} item{'' if len(rows) == 1 else 's'}"
    counts = Counter(row.status for row in rows)
    others = (
        (counts[StepStatus.SKIPPED], "skipped"),
        (counts[StepStatus.FELL_BACK], "with the fallback"),
        (counts[StepStatus.FAILED], "failed"),
    )
    return ", ".join([said, *(f"{count:,} {what}" for count, what in others if count)]) + "."


def outputs_of(rows: list[RunStep]) -> list[JsonValue]:
    """Return the outputs in the order of the items, null for each that left none.

    Raises OutputRejected where they are too large together.
    """
    outputs = [None if row.status in WITHOUT_OUTPUT else row.output for row in rows]
    _require_room(size_of(outputs))
    return outputs


def _require_room(size: int) -> None:
    if size > LARGEST_OUTPUT:
        raise OutputRejected(
            f"The outputs of the loop have {size:,} bytes; at most {LARGEST_OUTPUT:,} are "
            "accepted.",
            "Go through fewer items, or ask the tool for less.",
        )
