"""Say in a line what happened between an agent and its models."""

from chat.models import ModelStep
from config.lib.types import JsonObject, JsonValue

NOTES = frozenset({"model.retried", "model.switched", "context.compacted"})
"""Events that the page tells in a quiet line."""


def note_of(name: str, data: JsonObject) -> str:
    """Return the line for one event of `NOTES`."""
    if name == "model.retried":
        waits = round((data.get("waits_ms") or 0) / 1000, 1)
        after = f" in {waits:g} s" if waits else ""
        return f"{data.get('model')} did not answer{_why(data.get('error'))}; asking again{after}."
    if name == "model.switched":
        return f"{data.get('from')} does not answer; {data.get('to')} goes on."
    return _compacted(data)


def notes_of_step(step: ModelStep) -> list[str]:
    """Return the lines for a step that is kept, as they were told while it went on."""
    lines = [_compacted(step.compaction)] if step.compaction else []
    for tried, after in zip(step.attempts, step.attempts[1:], strict=False):
        if tried.get("model") == after.get("model"):
            data = {**tried, "waits_ms": after.get("waited_ms")}
            lines.append(note_of("model.retried", data))
        else:
            moved = {"from": tried.get("model"), "to": after.get("model")}
            lines.append(note_of("model.switched", moved))
    return lines


def _compacted(data: JsonObject) -> str:
    dropped = [
        f"{data[key]} earlier {word}{'' if data[key] == 1 else 's'}"
        for key, word in (("dropped_turns", "message"), ("dropped_results", "result"))
        if data.get(key)
    ]
    what = " and ".join(dropped) or "Some of what was said"
    return f"To fit the model's context, it was not told again: {what}."


def _why(error: JsonValue) -> str:
    told = error.get("message") if isinstance(error, dict) else error
    return f" ({str(told).rstrip('.')})" if told else ""
