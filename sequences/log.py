"""Tell what a run did, as data: the execution log."""

from config.lib.jsontext import shortened, size_of
from config.lib.types import JsonObject, JsonValue
from sequences.models import Run, RunStep
from sequences.models.run_step import StepStatus

LARGEST_LOG = 900_000
"""Bytes of JSON above which the outputs in a log are shortened, so that the log stays usable."""

LARGEST_SHORTENED = 4_000
"""Bytes of one step's output in a log that had to be shortened."""


def execution_log(run: Run) -> list[JsonObject]:
    """Return `[{stepNumber, title, tool, status, message, output|error, started_at, duration_ms,
    attempts}]` in the order of the steps.

    A step that fell back to another value has both its error and that output; one with a loop has
    one entry. A step without a title has none here.
    """
    steps = list(run.steps.filter(iteration=None).order_by("number"))
    log = [_entry(step, step.output) for step in steps]
    if size_of(log) <= LARGEST_LOG:
        return log
    return [_entry(step, shortened(step.output, LARGEST_SHORTENED)) for step in steps]


def run_details(run: Run) -> JsonObject:
    """Return `{run_id, log}`: what a person may want to see beside the answer of a sequence."""
    return {"run_id": str(run.pk), "log": execution_log(run)}


def _entry(step: RunStep, output: JsonValue) -> JsonObject:
    entry: JsonObject = {
        "stepNumber": step.number,
        **({"title": step.title} if step.title else {}),
        "tool": step.tool_name,
        "status": step.status,
        "message": step.message,
        "started_at": step.started_at.isoformat(),
        "duration_ms": step.duration_ms,
        "attempts": step.attempts,
    }
    if step.error is not None:
        entry["error"] = step.error
    if step.error is None or step.status == StepStatus.FELL_BACK:
        entry["output"] = output
    return entry
