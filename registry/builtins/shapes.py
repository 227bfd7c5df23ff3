"""Short constructors for the JSON Schemas of the built-in tools.

Every constructor asks for the bounds, so no tool can forget them.
"""

from collections.abc import Iterable, Mapping

from config.lib.types import JsonObject, JsonValue

TEXT_LIMIT = 100_000
"""Characters a text argument may have: some fifty printed pages."""


def record(
    properties: Mapping[str, JsonObject], required: Iterable[str] | None = None
) -> JsonObject:
    """Return a closed object schema; without `required` every property is required."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties if required is None else required),
        "additionalProperties": False,
    }


def text(
    description: str,
    *,
    limit: int = TEXT_LIMIT,
    at_least: int = 0,
    default: str | None = None,
    examples: Iterable[str] = (),
) -> JsonObject:
    """Return a string schema of `at_least` to `limit` characters."""
    shape: JsonObject = {"type": "string", "description": description, "maxLength": limit}
    if at_least:
        shape["minLength"] = at_least
    if default is not None:
        shape["default"] = default
    if examples:
        shape["examples"] = list(examples)
    return shape


def choice(description: str, values: Iterable[JsonValue], default: JsonValue = None) -> JsonObject:
    """Return a schema that admits one of `values`."""
    shape: JsonObject = {"description": description, "enum": list(values)}
    if default is not None:
        shape["default"] = default
    return shape


def integer(description: str, low: int, high: int, default: int | None = None) -> JsonObject:
    """Return a schema for a whole number from `low` to `high`, both included."""
    return _numeric("integer", description, low, high, default)


def number(description: str, low: float, high: float, default: float | None = None) -> JsonObject:
    """Return a schema for a number from `low` to `high`, both included."""
    return _numeric("number", description, low, high, default)


def flag(description: str, default: bool) -> JsonObject:
    """Return a boolean schema."""
    return {"type": "boolean", "description": description, "default": default}


def listing(description: str, items: JsonObject, *, most: int, least: int = 0) -> JsonObject:
    """Return a schema for an array of `least` to `most` items."""
    shape: JsonObject = {
        "type": "array",
        "description": description,
        "items": items,
        "maxItems": most,
    }
    if least:
        shape["minItems"] = least
    return shape


def produced(kind: str | list[str], description: str) -> JsonObject:
    """Return the schema of an output field, which needs no bounds."""
    return {"type": kind, "description": description}


def _numeric(
    kind: str, description: str, low: float, high: float, default: float | None
) -> JsonObject:
    shape: JsonObject = {
        "type": kind,
        "description": description,
        "minimum": low,
        "maximum": high,
    }
    if default is not None:
        shape["default"] = default
    return shape
