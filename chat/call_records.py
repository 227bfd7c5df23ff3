"""Take into a card what a call has told so far, and what it gave in the end."""

from typing import Any

from chat.parts import CallCard, Found
from config.lib.types import JsonObject
from registry.media import media_in


def answer_taken(card: CallCard, record: JsonObject) -> None:
    """Take in the record of a call that is over, as `Answer.for_record` has it."""
    details = record.get("details") or {}
    card.status = record["status"]
    card.output = record.get("output")
    card.error = record.get("error")
    card.duration_ms = record.get("duration_ms")
    card.run_id = details.get("run_id", card.run_id)
    card.logs = details.get("logs") or []
    card.artifact = details.get("artifact")
    card.saved = details.get("artifacts") or []
    card.invocation = details.get("invocation", "")
    card.media = media_in({"content": record.get("media")})
    if found := details.get("found"):
        card.found = Found(id=f"{card.id}-found", found=found)
    if log := details.get("log"):
        card.steps = _steps_logged(card.steps, log)
    elif called := details.get("calls"):
        card.steps = [dict(entry) for entry in called]
    elif not card.steps:
        for note in record.get("progress", []):
            step_noted(card, note)


def step_noted(card: CallCard, note: JsonObject) -> None:
    """Add a progress note to a card; a later note of the same step replaces the earlier one."""
    card.run_id = note.get("run") or card.run_id
    if "plan" in note:
        card.steps = card.steps or [
            {"number": step["step"], "title": step["message"], "status": "planned"}
            for step in note["plan"]
        ]
        return
    message, number = note.get("message", ""), note.get("step")
    step: dict[str, Any] = {"number": number, "message": message, "status": note.get("status", "")}
    for place, earlier in enumerate(card.steps):
        if number is not None and earlier["number"] == number:
            card.steps[place] = {"title": earlier.get("title"), **step}
            return
    card.steps.append(step)


def _steps_logged(before: list[JsonObject], log: list[JsonObject]) -> list[JsonObject]:
    """Return the steps of a run that is over, and those of its plan that it never came to."""
    logged = [_step_logged(entry) for entry in log]
    reached = {step["number"] for step in logged}
    missed = [step for step in before if step["number"] not in reached]
    return logged + [step for step in missed if step["status"] == "planned"]


def _step_logged(entry: JsonObject) -> JsonObject:
    return {
        "number": entry.get("stepNumber"),
        "title": entry.get("title"),
        "tool": entry.get("tool"),
        "message": entry.get("message") or entry.get("tool"),
        "status": entry.get("status", ""),
    }
