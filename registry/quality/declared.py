"""What a tool says of itself: no more of it counts than a model needs to choose and call it."""

import re
from collections.abc import Iterator
from typing import Any

from config.lib.types import JsonSchema
from registry.models import Tool
from registry.schemas import check_schema

ENOUGH_WORDS = 12
"""Different words from which a description tells a model what the tool is for."""

MOST_PROPERTIES = 200
"""Parameters that are looked at, nested ones included."""

DEEPEST = 5

_WORD = re.compile(r"[^\W\d_]{2,}")
_TYPED = ("type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf")
_BOUNDS = {
    "string": ("maxLength", "enum", "const", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "enum", "const"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "enum", "const"),
    "array": ("maxItems", "enum", "const"),
}
"""Type → the keywords any one of which says which values are meant; other types need none."""


def documentation(tool: Tool) -> tuple[float, str]:
    """Return how complete a tool's words are (0 to 1), and what would add most to them."""
    guidance = tool.ai_agent or {}
    wanted = (
        (
            0.6,
            _said(tool.description, ENOUGH_WORDS),
            f"Say in {ENOUGH_WORDS} different words or more what the tool is for.",
        ),
        (0.2, _said(guidance.get("useCase"), 5), "Add to its guidance when to use it."),
        (0.2, 1.0 if tool.output_schema else 0.0, "Say with an output schema what it answers."),
    )
    missing = max(wanted, key=lambda part: part[0] * (1 - part[1]))
    share = sum(weight * part for weight, part, _ in wanted)
    return share, missing[2] if share < 1 else ""


def schema(tool: Tool) -> tuple[float, str]:
    """Return how well the input schema tells a model what to send (0 to 1), and what is missing."""
    if check_schema(tool.input_schema):
        return 0.0, "The input schema is not valid JSON Schema: correct it."
    properties = list(_properties(tool.input_schema, DEEPEST))[:MOST_PROPERTIES]
    if not properties:
        return 1.0, ""
    wanted = (
        (0.4, [_typed(item) for item in properties], "Give every parameter a type."),
        (0.4, [_described(item) for item in properties], "Give every parameter a description."),
        (
            0.2,
            [_bounded(item) for item in properties],
            "Say which values are meant: lengths, ranges, choices or formats.",
        ),
    )
    shares = [(weight, sum(good) / len(good), advice) for weight, good, advice in wanted]
    missing = max(shares, key=lambda part: part[0] * (1 - part[1]))
    share = sum(weight * part for weight, part, _ in shares)
    return share, missing[2] if share < 1 else ""


def _said(text: object, enough: int) -> float:
    """Return the share of `enough` different words; a word said twice counts once."""
    words = set(_WORD.findall(text.lower())) if isinstance(text, str) else set()
    return min(len(words) / enough, 1.0)


def _properties(item: JsonSchema, depth: int) -> Iterator[JsonSchema]:
    nested = item.get("properties")
    if isinstance(nested, dict):
        for child in nested.values():
            if isinstance(child, dict):
                yield child
                if depth:
                    yield from _properties(child, depth - 1)
    items = item.get("items")
    if isinstance(items, dict) and depth:
        yield from _properties(items, depth - 1)


def _typed(item: JsonSchema) -> bool:
    return any(keyword in item for keyword in _TYPED)


def _described(item: JsonSchema) -> bool:
    return bool(_WORD.search(str(item.get("description") or "")))


def _bounded(item: JsonSchema) -> bool:
    kind: Any = item.get("type")
    keywords = _BOUNDS.get(kind) if isinstance(kind, str) else None
    return keywords is None or any(keyword in item for keyword in keywords)
