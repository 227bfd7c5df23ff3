"""Turn a schema of a document into one that stands by itself.

References are put in place, cyclic ones are cut where they come round, and the dialect of 3.0
(`nullable`, exclusive bounds as flags, `example`) becomes that of JSON Schema 2020-12.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from config.lib.jsontext import size_of
from config.lib.types import JsonObject, JsonSchema, JsonValue
from registry.importing.openapi.dialect import LISTS, NULL, merged, modern, usable
from registry.importing.openapi.references import CannotTakeError, References, name_of
from registry.schemas import SchemaProblem, canonical_json, check_schema

Side = Literal["request", "response"]

DEPTHS = (12, 8, 5, 3, 2)
"""Levels of objects and lists that are tried, one after another, until the schema is small."""

LARGEST_SCHEMA = 40_000
"""Bytes of one inlined schema; a model reads all of it."""

MOST_NODES = 4_000
MOST_STEPS = 40
"""References, alternatives and levels on the way down to one schema."""

SCHEMAS = ("additionalProperties", "items", "not", "if", "then", "else", "contains",
           "propertyNames")  # fmt: skip
MAPS = ("properties", "patternProperties", "dependentSchemas")
PATTERNS = frozenset({"pattern", "patternProperties"})
ALTERNATIVE = "|"


class _TooLargeError(Exception):
    """This depth gives too much."""


@dataclass
class _Bounds:
    side: Side
    depth: int
    patterns: bool
    nodes: int = 0
    cut: set[str] = field(default_factory=set)


@dataclass(frozen=True, kw_only=True)
class Inlined:
    """A schema that stands by itself, and what of the document's is not in it."""

    schema: JsonSchema
    notes: tuple[str, ...] = ()


class Inliner:
    """Inlines the schemas of one document."""

    def __init__(self, references: References, *, is_30: bool) -> None:
        self._references = references
        self._is_30 = is_30
        self._checked_before: dict[str, list[SchemaProblem]] = {}

    def inlined(self, schema: JsonValue, path: str, side: Side) -> Inlined:
        """Return `schema` (at the place `path`) without references, deep parts cut if need be.

        Raises CannotTakeError where a reference leads nowhere, or what is left is no JSON Schema.
        """
        for depth in DEPTHS:
            bounds = _Bounds(side, depth, patterns=True)
            try:
                made = self._schema(schema, path, bounds, ())
            except _TooLargeError:
                continue
            if size_of(made) <= LARGEST_SCHEMA:
                return self._checked(made, schema, path, bounds)
        raise CannotTakeError(path, "Its schema is too large, even without its deeper parts.")

    def _checked(self, made: JsonSchema, schema: JsonValue, path: str, bounds: _Bounds) -> Inlined:
        notes = [f"Deeper parts of {', '.join(sorted(bounds.cut)[:5])} are left out."] * bool(
            bounds.cut
        )
        if problems := self._problems(made):
            made = self._schema(schema, path, _Bounds(bounds.side, bounds.depth, False), ())
            notes.append("Patterns that cannot be checked are left out.")
            problems = self._problems(made)
        if problems:
            inner = problems[0].path.removeprefix("$.properties.value").removeprefix("$")
            raise CannotTakeError(f"{path}{inner}", problems[0].message)
        return Inlined(schema=made, notes=tuple(notes))

    def _problems(self, schema: JsonSchema) -> list[SchemaProblem]:
        """Check a schema; many of a document's are alike, so each is looked at once."""
        text = canonical_json(schema)
        if text not in self._checked_before:
            self._checked_before[text] = check_schema(_object_around(schema))
        return self._checked_before[text]

    def _schema(self, schema: JsonValue, path: str, bounds: _Bounds, stack: tuple[str, ...]) -> Any:
        bounds.nodes += 1
        if bounds.nodes > MOST_NODES:
            raise _TooLargeError
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            raise CannotTakeError(path, "A schema must be an object.")
        if len(stack) > MOST_STEPS:
            bounds.cut.add(_told(schema, stack))
            return _stub({}, "Deeper parts are left out here; any value is accepted.")
        if "$ref" in schema:
            return self._reference(schema, path, bounds, stack)
        made: JsonObject = {key: value for key, value in schema.items() if usable(key, schema)}
        if not bounds.patterns:
            made.pop("pattern", None)
        if stack.count("") >= bounds.depth and _has_inside(schema):
            bounds.cut.add(_told(schema, stack))
            return _stub(made, "Deeper parts are left out here; any value is accepted.")
        made |= self._parts(schema, path, bounds, stack)
        _drop_hidden(made, self._hidden(schema, path, bounds.side))
        if self._is_30:
            made = modern(made, schema)
        return merged(made)

    def _parts(
        self, schema: JsonObject, path: str, bounds: _Bounds, stack: tuple[str, ...]
    ) -> JsonObject:
        """Return the schemas within a schema; alternatives are no deeper than it is."""
        deeper = (*stack, "")
        made: JsonObject = {}
        for key in SCHEMAS:
            if key in schema:
                made[key] = self._schema(schema[key], f"{path}.{key}", bounds, deeper)
        for key in LISTS:
            if isinstance(schema.get(key), list):
                below = deeper if key == "prefixItems" else (*stack, ALTERNATIVE)
                made[key] = [
                    self._schema(inner, f"{path}.{key}[{index}]", bounds, below)
                    for index, inner in enumerate(schema[key])
                ]
        for key in MAPS:
            if isinstance(schema.get(key), dict) and (bounds.patterns or key not in PATTERNS):
                made[key] = self._members(schema[key], f"{path}.{key}", bounds, deeper)
        return made

    def _members(
        self, members: JsonObject, path: str, bounds: _Bounds, stack: tuple[str, ...]
    ) -> JsonObject:
        return {
            name: self._schema(inner, f"{path}.{name}", bounds, stack)
            for name, inner in members.items()
        }

    def _reference(
        self, schema: JsonObject, path: str, bounds: _Bounds, stack: tuple[str, ...]
    ) -> Any:
        reference = schema["$ref"]
        target = self._references.target(reference, path)
        name = name_of(reference)
        if reference in stack:
            bounds.cut.add(name)
            kind = target.get("type") if isinstance(target, dict) else None
            made: JsonObject = {"type": kind} if isinstance(kind, str) else {}
            return _stub(made, f"Another “{name}”, which holds itself; it is not described again.")
        inlined = self._schema(target, path, bounds, (*stack, reference))
        beside = {key: value for key, value in schema.items() if key in ("description", "title")}
        beside |= {key: schema[key] for key in ("default", "deprecated") if key in schema}
        if not isinstance(inlined, dict):
            return inlined
        inlined = {**inlined, **beside}
        if self._is_30 and schema.get("nullable") is True:
            return {"anyOf": [inlined, NULL]}
        return inlined

    def _hidden(self, schema: JsonObject, path: str, side: Side) -> set[str]:
        """Return the properties that this side does not have: readOnly or writeOnly ones."""
        flag = "readOnly" if side == "request" else "writeOnly"
        properties = schema.get("properties")
        hidden = set()
        for name, inner in properties.items() if isinstance(properties, dict) else ():
            if not isinstance(inner, dict):
                continue
            if inner.get(flag) is True or (
                "$ref" in inner
                and self._references.followed(inner, f"{path}.properties.{name}").get(flag) is True
            ):
                hidden.add(name)
        return hidden


def _drop_hidden(made: JsonObject, hidden: set[str]) -> None:
    if not hidden:
        return
    made["properties"] = {k: v for k, v in made["properties"].items() if k not in hidden}
    if isinstance(made.get("required"), list):
        made["required"] = [name for name in made["required"] if name not in hidden]


def _stub(made: JsonObject, note: str) -> JsonObject:
    told = made.get("description")
    kept: JsonObject = {key: made[key] for key in ("type", "title") if key in made}
    return {**kept, "description": f"{told} ({note})" if told else note}


def _has_inside(schema: JsonObject) -> bool:
    return any(key in schema for key in (*SCHEMAS, *MAPS, "prefixItems"))


def _told(schema: JsonObject, stack: tuple[str, ...]) -> str:
    named = [name_of(step) for step in stack if step not in ("", ALTERNATIVE)]
    return str(schema.get("title") or (named[-1] if named else "the schema"))[:80]


def _object_around(schema: JsonSchema) -> JsonSchema:
    """Return an object schema with this one inside, as a tool's input is checked."""
    return {"type": "object", "properties": {"value": schema}}
