"""Tell programs what each step of a run did, its iterations among them."""

from django.db.models import F

from config.lib.jsontext import shortened, size_of
from config.lib.types import JsonObject
from sequences.models import Run, RunRequest, RunStep

LARGEST_ANSWER = 900_000
"""Bytes of JSON above which the outputs of an answer are shortened; each can be read by itself."""

LARGEST_SHORTENED = 4_000
"""Bytes of one step's output where outputs had to be shortened."""


def step_entries(run: Run) -> list[JsonObject]:
    """Return `[{id, stepNumber, iteration, key, title, tool, tool_version, status, message,
    output|error, started_at, duration_ms, attempts}]`, each iteration behind its step.

    An output of a long answer is `{truncated, bytes, preview}` where it is large.
    """
    steps = list(
        run.steps.defer("input").order_by("number", F("iteration").asc(nulls_first=True), "pk")
    )
    entries = [step_entry(step) for step in steps]
    if size_of(entries) <= LARGEST_ANSWER:
        return entries
    return [step_entry(step, LARGEST_SHORTENED) for step in steps]


def step_entry(step: RunStep, largest: int | None = LARGEST_ANSWER) -> JsonObject:
    """Return what one step did; an output of more than `largest` bytes is shortened."""
    entry: JsonObject = {
        "id": str(step.pk),
        "stepNumber": step.number,
        "iteration": step.iteration,
        "key": step.key,
        "title": step.title,
        "tool": step.tool_name,
        "tool_version": step.tool_version,
        "status": step.status,
        "message": step.message,
        "started_at": step.started_at.isoformat(),
        "duration_ms": step.duration_ms,
        "attempts": step.attempts,
    }
    if step.error is None:
        entry["output"] = step.output if largest is None else shortened(step.output, largest)
    else:
        entry["error"] = step.error
    return entry


def request_entries(run: Run) -> list[JsonObject]:
    """Return what the run asked people, the oldest first; `approved` is null until it is said."""
    asked = run.requests.select_related("step", "answered_by").order_by("asked_at", "pk")
    return [_request_entry(request) for request in asked]


def _request_entry(request: RunRequest) -> JsonObject:
    by = request.answered_by
    return {
        "id": str(request.pk),
        "step": str(request.step_id),
        "stepNumber": request.step.number,
        "title": request.title,
        "message": request.message,
        "inputSchema": request.input_schema,
        "asked_at": request.asked_at.isoformat(),
        "expires_at": request.expires_at.isoformat() if request.expires_at else None,
        "approved": request.approved,
        "values": request.values,
        "note": request.note,
        "answered_by": by.username if by else None,
        "answered_at": request.answered_at.isoformat() if request.answered_at else None,
    }
