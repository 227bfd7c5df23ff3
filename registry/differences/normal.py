"""Bring a JSON Schema into a form in which two of them can be laid side by side."""

from collections.abc import Mapping
from typing import Any

from referencing.exceptions import Unresolvable

from config.lib.jsontext import schema_type
from config.lib.types import JsonObject, JsonSchema, JsonValue
from registry.schema_rules import lookup

MOST_FOLLOWED = 20
"""References that are followed one after the other, and parts of `allOf` that are joined."""

TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
ANNOTATIONS = ("title", "description", "default", "examples", "$schema", "$id", "$comment")


def normal(root: JsonSchema, schema: JsonValue) -> JsonObject:
    """Return a schema with its `$ref` followed and its `allOf` joined, one level deep.

    What leads nowhere stays as it is; it is told as a change of the reference itself.
    """
    if schema is False:
        return {"not": {}}
    if not isinstance(schema, Mapping):
        return {}
    joined: JsonObject = dict(schema)
    for _ in range(MOST_FOLLOWED):
        reference = joined.get("$ref")
        target = _target(root, reference) if isinstance(reference, str) else None
        if target is not None:
            del joined["$ref"]
            joined = _joined(dict(target), joined)
            continue
        parts = joined.get("allOf")
        if not isinstance(parts, list) or len(parts) > MOST_FOLLOWED:
            break
        del joined["allOf"]
        for part in parts:
            joined = _joined(dict(part) if isinstance(part, Mapping) else {}, joined)
    return joined


def types_of(schema: JsonSchema) -> frozenset[str]:
    """Return the JSON types that a normal schema lets in; a number may be whole."""
    named = schema.get("type")
    if isinstance(named, str):
        named = [named]
    if not isinstance(named, list):
        named = _told_by_values(schema)
    types = frozenset(str(name) for name in named)
    return types | {"integer"} if "number" in types else types


def branches_of(root: JsonSchema, schema: JsonSchema) -> list[JsonObject] | None:
    """Return the alternatives of a normal schema, None when it has but one form."""
    for keyword in ("anyOf", "oneOf"):
        listed = schema.get(keyword)
        if isinstance(listed, list) and listed:
            return [normal(root, item) for item in listed]
    return None


def as_branches(schema: JsonSchema) -> list[JsonObject]:
    """Return a schema without alternatives as a list of them: one for each of its types."""
    rest = {name: value for name, value in schema.items() if name not in ANNOTATIONS}
    named = rest.get("type")
    if not isinstance(named, list):
        return [rest]
    return [{**rest, "type": name} for name in named]


def values_of(schema: JsonSchema) -> list[JsonValue] | None:
    """Return the values that a schema lists (`enum`, `const`), None when it lists none."""
    if "const" in schema:
        return [schema["const"]]
    listed = schema.get("enum")
    return list(listed) if isinstance(listed, list) else None


def properties_of(schema: JsonSchema) -> Mapping[str, Any]:
    """Return the named parts of an object."""
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def required_of(schema: JsonSchema) -> frozenset[str]:
    """Return the names that have to be there."""
    required = schema.get("required")
    return frozenset(map(str, required)) if isinstance(required, list) else frozenset()


def _target(root: JsonSchema, reference: str) -> JsonSchema | None:
    try:
        return lookup(root, reference) if reference.startswith("#") else None
    except (Unresolvable, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return None


def _joined(first: JsonObject, second: JsonObject) -> JsonObject:
    """Return both in one: what both name, the second decides, but for parts and duties."""
    joined = {**first, **second}
    if "properties" in first and "properties" in second:
        joined["properties"] = {**properties_of(first), **properties_of(second)}
    if "required" in first and "required" in second:
        joined["required"] = sorted(required_of(first) | required_of(second))
    return joined


def _told_by_values(schema: JsonSchema) -> list[str]:
    """Return the types of the listed values, of the keywords of objects, or all of them."""
    values = values_of(schema)
    if values:
        return sorted({schema_type(value) for value in values})
    if "properties" in schema:
        return ["object"]
    return ["array"] if "items" in schema else list(TYPES)
