"""A JSON Schema of inputs as fields that anybody can fill in, and the schema that fields mean.

What fields cannot say stays in the schema: only keywords that a field changed are written anew, so
`schema_from_fields(fields_from_schema(schema), schema) == schema` for every schema.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from config.lib.types import JsonObject, JsonSchema, JsonValue
from registry.schema_forms import MULTILINE_LENGTH

KINDS: Final[Mapping[str, tuple[str, JsonObject]]] = MappingProxyType(
    {
        "text": ("Text", {"type": "string"}),
        "long": ("Long text", {"type": "string", "contentMediaType": "text/plain"}),
        "number": ("Number", {"type": "number"}),
        "integer": ("Whole number", {"type": "integer"}),
        "boolean": ("Yes or no", {"type": "boolean"}),
        "choice": ("Choice", {"type": "string", "enum": []}),
        "texts": ("List of texts", {"type": "array", "items": {"type": "string"}}),
        "date": ("Date", {"type": "string", "format": "date"}),
        "datetime": ("Date and time", {"type": "string", "format": "date-time"}),
        "object": ("Object", {"type": "object"}),
        "any": ("Anything", {}),
    }
)
"""Kind of a field → its name for a person, and the keywords that mean it."""

STARTER_CHOICES = ("first", "second")
"""What a choice without choices has, since no value at all would fit it."""

BEYOND_ASKING = frozenset({"texts", "object", "any"})
"""Kinds that the form of an approval step has no field for (`step_checks.approval_problems`)."""

OTHER = "other"
"""The kind of a property that only JSON can say."""

_TELLING = ("type", "format", "enum", "items", "contentMediaType")
"""Keywords that tell the kind."""
_FURTHER = ("const", "anyOf", "oneOf", "allOf", "not", "$ref", "if", "prefixItems")
"""Keywords beside which the kind is not what `_TELLING` says alone."""
_SAID = (*_TELLING, "description", "default")
_STAY = ("title", "description", "examples", "deprecated", "$comment")
"""Keywords that mean the same for every kind, so they stay when the kind is changed."""


@dataclass(frozen=True, kw_only=True)
class SchemaField:
    """One input: `choices` has one a line; `default` is text as `default_text` writes it.

    `was` is its name in the schema that it came from, empty for a new one. `kept` are the keywords
    of its schema that no field shows.
    """

    name: str
    was: str = ""
    kind: str = "text"
    required: bool = False
    default: str = ""
    description: str = ""
    choices: str = ""
    kept: tuple[str, ...] = ()


def fields_from_schema(schema: JsonValue) -> list[SchemaField] | None:
    """Return a field for each property, in their order; None for what is no schema of an object."""
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
        return None
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, Mapping) or not isinstance(required, list):
        return None
    return [_field(str(name), inner, name in required) for name, inner in properties.items()]


def schema_from_fields(fields: Iterable[SchemaField], base: JsonSchema) -> JsonSchema:
    """Return `base` with its properties as the fields say, in their order.

    A field without a name, or with the name of one before it, gets a name of its own: nothing that
    was typed is lost.
    """
    before = {field.name: field for field in fields_from_schema(base) or ()}
    old = base.get("properties") or {}
    properties: JsonObject = {}
    required: list[str] = []
    for field in fields:
        name = free_name(field.name.strip() or field.was or "input", properties)
        properties[name] = _property(field, old.get(field.was, {}), before.get(field.was))
        if field.required:
            required.append(name)
    schema = {**base, "properties": properties}
    if "properties" not in base and not properties:
        del schema["properties"]
    # What is required without being a property stays, and so does the order as long as it can.
    held = base.get("required") or []
    required += [name for name in held if isinstance(name, str) and name not in old]
    if sorted(required) == sorted(map(str, held)):
        return schema
    if required:
        return {**schema, "required": required}
    return {key: value for key, value in schema.items() if key != "required"}


def free_name(wanted: str, taken: Iterable[str]) -> str:
    """Return the name, with a number behind it where there is already such a one."""
    names, number, name = set(taken), 2, wanted
    while name in names:
        name, number = f"{wanted}_{number}", number + 1
    return name


def renames(fields: Iterable[SchemaField], schema: JsonSchema) -> dict[str, str]:
    """Return the old → new names of the inputs that the fields call otherwise in `schema`.

    `schema` is what `schema_from_fields` made of them.
    """
    named = zip(fields, schema.get("properties") or {}, strict=True)
    return {field.was: name for field, name in named if field.was and field.was != name}


def default_text(value: JsonValue, kind: str) -> str:
    """Return a default as it is typed."""
    if value is None or (isinstance(value, str) and kind not in ("any", OTHER, "object")):
        return value or ""
    if kind == "texts" and isinstance(value, list) and all(map(_is_line, value)):
        return "\n".join(value)
    return json.dumps(value, ensure_ascii=False)


def default_value(text: str, kind: str) -> JsonValue:
    """Return the default that was typed; text that does not fit the kind stays text."""
    if kind in ("text", "long", "choice", "date", "datetime"):
        return text
    read = _json_or_text(text.strip())
    if kind == "texts":
        return read if isinstance(read, list) else _lines(text)
    if kind == "number" and isinstance(read, str):
        return _json_or_text(text.strip().replace(",", "."))
    if kind == "boolean" and isinstance(read, str):
        return {"yes": True, "no": False}.get(read.lower(), read)
    return read


def _field(name: str, schema: JsonValue, required: bool) -> SchemaField:
    if not isinstance(schema, Mapping):
        return SchemaField(name=name, was=name, kind=OTHER, required=required)
    kind = _kind(schema)
    description = schema.get("description")
    return SchemaField(
        name=name,
        was=name,
        kind=kind,
        required=required,
        default=default_text(schema.get("default"), kind),
        description=description if isinstance(description, str) else "",
        choices="\n".join(schema["enum"]) if kind == "choice" else "",
        kept=tuple(key for key in schema if key not in _SAID or kind == OTHER),
    )


def _kind(schema: JsonSchema) -> str:
    said = {key: schema[key] for key in _TELLING if key in schema}
    if any(key in schema for key in _FURTHER):
        return OTHER
    choices = said.get("enum")
    if isinstance(choices, list) and choices and all(map(_is_line, choices)):
        return "choice" if {**said, "enum": []} == KINDS["choice"][1] else OTHER
    if said == {"type": "string"} and isinstance(schema.get("maxLength"), int):
        return "long" if schema["maxLength"] > MULTILINE_LENGTH else "text"
    return next((kind for kind, (_, means) in KINDS.items() if said == means), OTHER)


def _property(field: SchemaField, schema: JsonValue, before: SchemaField | None) -> JsonValue:
    """Return the schema of one property: the old one, with what the field changed."""
    if not isinstance(schema, Mapping):  # true or false: anything, or nothing
        if field.kind == OTHER:
            return schema
        schema, before = {}, None
    before = before or SchemaField(name="", kind="")
    changed: JsonObject = dict(schema)
    new_kind = field.kind in KINDS and field.kind != before.kind
    if new_kind:
        stay = {key: value for key, value in changed.items() if key in (*_STAY, "default")}
        changed = {**KINDS[field.kind][1], **stay}
    if field.kind == "choice" and (new_kind or field.choices != before.choices):
        changed["enum"] = list(dict.fromkeys(_lines(field.choices))) or list(STARTER_CHOICES)
    _say(changed, "description", field.description, before.description, field.description)
    if new_kind and field.default == before.default and "default" in changed:
        changed["default"] = default_value(field.default, field.kind)
    _say(
        changed,
        "default",
        field.default,
        before.default,
        default_value(field.default, field.kind),
    )
    return changed


def _say(schema: JsonObject, key: str, now: str, before: str, value: JsonValue) -> None:
    if now == before:
        return
    if now:
        schema[key] = value
    else:
        schema.pop(key, None)


def _is_line(value: JsonValue) -> bool:
    return isinstance(value, str) and value == value.strip() and value != "" and "\n" not in value


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _json_or_text(text: str) -> JsonValue:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def kind_choices(kind: str, asked: bool = False) -> Sequence[tuple[str, str]]:
    """Return the kinds to choose from, what only JSON can say among them where it is so.

    Of a person who is `asked` during a run, only those are to be had that a plain field takes.
    """
    named = [
        (name, words)
        for name, (words, _) in KINDS.items()
        if not asked or name == kind or name not in BEYOND_ASKING
    ]
    return [*named, (OTHER, "As its JSON says")] if kind == OTHER else named
