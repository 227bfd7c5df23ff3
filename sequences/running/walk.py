"""Go through the blocks of a run, from wherever it stands, to its end or its next rest."""

from config.lib.jsontext import size_of, storable
from config.lib.types import JsonObject, JsonValue
from registry.errors import OutputRejected
from registry.execution import LARGEST_OUTPUT
from sequences.definition import Definition, Step
from sequences.log import execution_log
from sequences.mapping import final_output
from sequences.models import Run, RunStep
from sequences.models.run import RunStatus
from sequences.running.branches import play_block
from sequences.running.journey import WITHOUT_OUTPUT, Journey, Known, Stop, Why
from sequences.running.plan import blocks_of
from sequences.states import CANCELLED, Ending


def walk(journey: Journey) -> Ending | Stop:
    """Do what is left of the run; return how it ends, or why it rests (handed over, or waiting).

    The end of the last step may still wait in the journal.
    """
    run, definition = journey.run, journey.definition
    known: Known = {"initial": run.input, "steps": {}}
    stop = None
    for block in blocks_of(definition, run.until_step):
        if (stop := play_block(journey, block, known)) is not None:
            break
    match stop:
        case None:
            return Ending(status=RunStatus.SUCCEEDED, output=_output(journey, known))
        case Stop(why=Why.CANCELLED):
            return Ending(status=RunStatus.CANCELLED, error=CANCELLED)
        case Stop(why=Why.FAILED, row=RunStep() as row):
            return Ending(status=RunStatus.FAILED, error=_error_of_run(row))
        case _:
            return stop


def _output(journey: Journey, known: Known) -> JsonValue:
    """Return the mapped output, or where none is mapped the log; raise when it is too large.

    A run up to some step gives the output of that step.
    """
    run, definition = journey.run, journey.definition
    last = _last(definition, run)
    if last is not None:
        row = journey.ended(last)
        shown = row is not None and row.status not in WITHOUT_OUTPUT
        output = row.output if row and shown else _log(journey)
    else:
        mapped = final_output(definition, known)
        output = _log(journey) if mapped is None else storable(mapped)
    if (size := size_of(output)) > LARGEST_OUTPUT:
        raise OutputRejected(
            f"The output of the run has {size:,} bytes; at most {LARGEST_OUTPUT:,} are accepted.",
            "Map fewer or smaller values into the final output.",
            tool=run.name,
        )
    return output


def _log(journey: Journey) -> JsonValue:
    journey.journal.flush()
    return execution_log(journey.run)


def _last(definition: Definition, run: Run) -> Step | None:
    """Return the step after which a test stops; None for a run of all steps."""
    numbers = {step.step_number: step for step in definition.steps}
    return numbers.get(run.until_step or 0)


def _error_of_run(row: RunStep) -> JsonObject:
    error = row.error or {}
    name = row.title or row.tool_name or "approval"
    return {
        **error,
        "message": f"Step {row.number} ({name}) failed: {error.get('message')}",
        "extra": {**error.get("extra", {}), "step": row.number},
    }
