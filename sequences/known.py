"""What a row of a draft may read: real values where there are some, else schemas."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from config.lib.types import JsonObject, JsonSchema, JsonValue
from sequences.definition import InputSource
from sequences.picking import DEEPEST
from sequences.reading import all_types, forms, inlined

_SOURCE: TypeAdapter[InputSource] = TypeAdapter(InputSource)


@dataclass(frozen=True, kw_only=True)
class Known:
    """What a row may read.

    `context` has real values; `schemas` says what there will be, by the name of the output;
    `later` are the names of outputs without a value yet, each with its step in words.
    """

    context: Mapping[str, Any]
    initial_schema: JsonSchema
    schemas: Mapping[str, JsonSchema]
    later: Mapping[str, str]
    item_schema: JsonSchema | None = None


def source_from_json(data: JsonObject) -> InputSource | None:
    """Return the source that a row means; None where it is not one yet."""
    try:
        return _SOURCE.validate_python(data)
    except ValidationError:
        return None


def example_of(schema: JsonSchema, depth: int = 0) -> JsonValue:
    """Return a value such as the schema describes, so that a way to mend a row can be tried."""
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    if isinstance(choices := schema.get("enum"), list) and choices:
        return choices[0]
    form = next(forms(schema), schema)
    kinds = all_types(form)
    if depth > DEEPEST or not kinds:
        return None
    if "object" in kinds:
        inner = form.get("properties")
        named = inner.items() if isinstance(inner, Mapping) else ()
        return {key: example_of(part, depth + 1) for key, part in named if isinstance(part, dict)}
    if "array" in kinds:
        item = form.get("items")
        return [example_of(item, depth + 1)] if isinstance(item, dict) else []
    simple: dict[str, JsonValue] = {"string": "1", "integer": 1, "number": 1, "boolean": True}
    return next((simple[kind] for kind in sorted(kinds) if kind in simple), None)


def with_examples(known: Known) -> JsonObject:
    """Return the context with examples for what has no real value."""
    example = example_of(inlined(known.initial_schema))
    initial = example if isinstance(example, dict) else {}
    steps = {
        name: example_of(inlined(schema))
        for name, schema in known.schemas.items()
        if name not in known.context["steps"]
    }
    context: JsonObject = {
        **known.context,
        "initial": {**initial, **known.context["initial"]},
        "steps": {**steps, **known.context["steps"]},
    }
    if known.item_schema is not None and "item" not in context:
        context |= {"item": example_of(inlined(known.item_schema)), "index": 0}
    return context
