"""What a model is answered that searched for tools."""

from collections.abc import Iterable, Sequence

from config.lib.types import JsonObject
from registry.finding import guidance
from registry.specs import ToolSpec


def output_of(found: Iterable[tuple[ToolSpec, str]], had: Sequence[str]) -> JsonObject:
    """Return what the model is answered: tools with why they fit, and what to do now."""
    tools = [
        {"name": spec.wire_name, "description": spec.told, "why": why, **guidance(spec)}
        for spec, why in found
    ]
    notes = []
    if had:
        notes.append(f"You had these before, use them: {', '.join(had)}.")
    if tools:
        notes.append("You can call these tools now. Stop searching and use the one that fits.")
    elif not had:
        notes.append(
            "No tool fits. Do not search for the same need again: answer with what you have, "
            "or tell the user what is missing."
        )
    return {"tools": tools, "note": " ".join(notes)}
