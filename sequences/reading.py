"""Say what an expression reads from data that is known by its JSON Schema alone.

A schema is only believed as far as it says: where it leaves open what there is, nothing is
missing. `Missing` stands for a part that a schema which names its parts does not name. Schemas
here have no references; `inlined` takes them out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from referencing.exceptions import Unresolvable

from config.lib.types import JsonSchema, JsonValue
from registry.schema_messages import type_words
from registry.schema_rules import lookup

MOST_FORMS = 50
MOST_NAMED = 20
MOST_PARTS = 5_000
DEEPEST = 20

ANY: JsonSchema = {}
"""A schema that says nothing."""


@dataclass(frozen=True)
class Missing:
    """A part that is not there, and what is."""

    part: str
    there: str

    def __str__(self) -> str:
        return f"“{self.part}” is not in it. {self.there}"


Read = JsonSchema | Missing


def read(node: Mapping[str, Any], schema: JsonSchema) -> Read:
    """Return the schema of what a parsed JMESPath expression gives, or what it misses."""
    children = node["children"]
    match node["type"]:
        case "identity" | "current" | "slice":
            return schema
        case "field":
            return member(schema, str(node["value"]))
        case "index":
            return items_of(schema)
        case "index_expression" | "pipe" | "subexpression":
            return _in_turn(children, schema)
        case "projection" | "filter_projection":
            return _projected(children, schema)
        case "flatten":
            return _flattened(read(children[0], schema))
        case "or_expression" | "not_expression" | "expref" | "literal":
            return ANY  # what is missing on the left of || is made up for
        case "value_projection":
            return _first_missing(children[:1], schema) or ANY
        case _:
            return _first_missing(children, schema) or ANY


def member(schema: JsonSchema, name: str) -> Read:
    """Return the schema of a property, or that there is none of this name."""
    known: dict[str, None] = {}
    for form in forms(schema):
        properties = form.get("properties")
        named = properties if isinstance(properties, Mapping) else {}
        if name in named:
            return named[name] if isinstance(named[name], Mapping) else ANY
        if _may_hold_any_name(form):
            return ANY
        known |= dict.fromkeys(named)
    if known:
        names = ", ".join(islice(known, MOST_NAMED))
        return Missing(name, f"What is there: {names}.")
    return Missing(name, f"What is there: {_words(schema)}.")


def items_of(schema: JsonSchema) -> Read:
    """Return the schema of a list's items; nothing is known of a tuple's."""
    kinds = all_types(schema)
    if kinds and "array" not in kinds:
        return Missing("[…]", f"What is there: {_words(schema)}.")
    every = list(forms(schema))
    items = every[0].get("items") if len(every) == 1 and "prefixItems" not in every[0] else None
    return items if isinstance(items, Mapping) else ANY


def forms(schema: JsonSchema, depth: int = 0) -> Iterator[JsonSchema]:
    """Yield the alternatives of a schema."""
    inner = [
        form
        for keyword in ("anyOf", "oneOf", "allOf")
        for form in _listed(schema.get(keyword))
        if isinstance(form, Mapping)
    ]
    if depth > DEEPEST:
        yield ANY
        return
    if not inner or "properties" in schema:
        yield schema
    for form in inner[:MOST_FORMS]:
        yield from forms(form, depth + 1)


def all_types(schema: JsonSchema) -> frozenset[str]:
    """Return the JSON types that a schema allows; empty where it does not say."""
    if "allOf" in schema:
        return frozenset()
    kinds = [_types_of(form) for form in forms(schema)]
    return frozenset[str]().union(*kinds) if all(kinds) else frozenset()


def inlined(schema: JsonSchema) -> JsonSchema:
    """Return the schema with its own references followed; what is too large says nothing."""
    left = [MOST_PARTS]

    def within(value: JsonValue, depth: int) -> JsonValue:
        left[0] -= 1
        if left[0] < 0 or depth > DEEPEST:
            return {}
        if isinstance(value, Mapping):
            if isinstance(reference := value.get("$ref"), str):
                return within(_target(schema, reference), depth + 1)
            return {key: within(inner, depth + 1) for key, inner in value.items() if key != "$defs"}
        if isinstance(value, list):
            return [within(inner, depth + 1) for inner in value]
        return value

    result: JsonSchema = within(schema, 0)
    return result


def _target(schema: JsonSchema, reference: str) -> JsonSchema:
    try:
        return lookup(schema, reference)
    except Unresolvable:
        return ANY


def _types_of(form: JsonSchema) -> frozenset[str]:
    kind = form.get("type")
    named = [kind] if isinstance(kind, str) else _listed(kind)
    return frozenset(name for name in named if isinstance(name, str))


def _listed(value: JsonValue) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _may_hold_any_name(form: JsonSchema) -> bool:
    kinds = _types_of(form)
    if kinds and "object" not in kinds:
        return False
    further = form.get("additionalProperties")
    if form.get("patternProperties") or isinstance(further, Mapping) or further is True:
        return True
    return "properties" not in form and further is not False


def _in_turn(nodes: list[Any], schema: JsonSchema) -> Read:
    found: Read = schema
    for node in nodes:
        if isinstance(found, Missing):
            return found
        found = read(node, found)
    return found


def _projected(children: list[Any], schema: JsonSchema) -> Read:
    """Follow what is read of each item, and what a filter looks at."""
    left = read(children[0], schema)
    item = left if isinstance(left, Missing) else items_of(left)
    if isinstance(item, Missing):
        return item
    inner = _first_missing(children[1:], item) or read(children[1], item)
    return inner if isinstance(inner, Missing) else {"type": "array", "items": inner}


def _flattened(left: Read) -> Read:
    if isinstance(left, Missing):
        return left
    item = items_of(left)
    if isinstance(item, Missing):
        return item
    kinds = all_types(item)
    return left if kinds and "array" not in kinds else ANY


def _first_missing(nodes: list[Any], schema: JsonSchema) -> Missing | None:
    for node in nodes:
        if isinstance(node, Mapping):
            found = read(node, schema)
            if isinstance(found, Missing):
                return found
    return None


def _words(schema: JsonSchema) -> str:
    return type_words(sorted(all_types(schema))) or "something else"
