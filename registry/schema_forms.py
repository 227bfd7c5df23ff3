"""Turn an input schema into the fields of an HTML form, and a sent form into arguments."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from referencing.exceptions import Unresolvable

from config.lib.types import JsonObject, JsonSchema, JsonValue
from registry.errors import InvalidArguments
from registry.schema_rules import lookup

FieldType = Literal["string", "number", "integer", "boolean", "json"]

MULTILINE_LENGTH = 200
"""A text that may be longer than this gets a text area."""
MULTILINE_NAMES = frozenset({"text", "html", "markdown", "content", "body", "code", "prompt"})
_TRUE = frozenset({"true", "on", "1", "yes"})
_FALSE = frozenset({"", "false", "off", "0", "no"})


@dataclass(frozen=True, kw_only=True)
class FormField:
    """One field of a form; `json` is a text area for whatever has no simple field."""

    name: str
    type: FieldType
    title: str
    description: str
    required: bool
    default: JsonValue
    enum: tuple[JsonValue, ...]
    format: str
    multiline: bool
    lines: bool = False
    """A list of texts, which may be typed one a line instead of as JSON."""


def form_fields(schema: JsonSchema) -> list[FormField]:
    """Return one field for each property of the schema, in its order."""
    required = frozenset(schema.get("required", ()))
    return [
        _field(name, _effective(schema, inner), required=name in required)
        for name, inner in schema.get("properties", {}).items()
    ]


def arguments_from_form(schema: JsonSchema, data: Mapping[str, str]) -> JsonObject:
    """Return the arguments that a sent form means, each of its property's type.

    A blank field is left out, and a missing checkbox is false. The result still has to be
    validated. Raises `InvalidArguments` with `extra["fields"]`, the message for each field.
    """
    arguments: JsonObject = {}
    wrong: dict[str, str] = {}
    for field in form_fields(schema):
        text = data.get(field.name, "")
        if field.type == "boolean" and not field.enum:
            text = text or "false"
        if text.strip() == "":
            continue
        try:
            arguments[field.name] = _value(field, text)
        except ValueError as error:
            wrong[field.name] = str(error)
    if wrong:
        raise InvalidArguments(
            "; ".join(f"{name}: {message}" for name, message in wrong.items()) + ".",
            problems=[{"path": f"$.{name}", "message": text} for name, text in wrong.items()],
            fields=wrong,
        )
    return arguments


def _field(name: str, schema: JsonSchema, *, required: bool) -> FormField:
    kind = _kind(schema)
    choices = schema.get("enum")
    return FormField(
        name=name,
        type=kind,
        title=str(schema.get("title") or name.replace("_", " ").capitalize()),
        description=str(schema.get("description", "")),
        required=required,
        default=schema.get("default"),
        enum=tuple(choices) if isinstance(choices, list) else (),
        format=str(schema.get("format", "")),
        lines=_is_list_of_texts(schema),
        multiline=kind == "json" or (kind == "string" and _is_long(name, schema)),
    )


def _effective(root: JsonSchema, schema: JsonValue) -> JsonSchema:
    """Return the property's schema, with a reference or an optional (`X | null`) looked through."""
    if not isinstance(schema, Mapping):
        return {}
    outer = {key: value for key, value in schema.items() if key not in {"$ref", "anyOf", "oneOf"}}
    if isinstance(schema.get("$ref"), str):
        return {**_target(root, schema), **outer}
    options = schema.get("anyOf") or schema.get("oneOf") or ()
    real = [option for option in options if option != {"type": "null"}]
    if len(real) == 1 and isinstance(real[0], Mapping):
        return {**_target(root, real[0]), **outer}
    return outer


def _target(root: JsonSchema, schema: JsonSchema) -> JsonSchema:
    """Return what the schema refers to, or the schema itself when it refers to nothing."""
    try:
        return lookup(root, schema["$ref"]) if "$ref" in schema else schema
    except Unresolvable:
        return {}


def _kind(schema: JsonSchema) -> FieldType:
    named = schema.get("type")
    types = [named] if isinstance(named, str) else list(named or ())
    match [name for name in types if name != "null"]:
        case ["string"]:
            return "string"
        case ["number"]:
            return "number"
        case ["integer"]:
            return "integer"
        case ["boolean"]:
            return "boolean"
        case [] if schema.get("enum") and all(isinstance(item, str) for item in schema["enum"]):
            return "string"
        case _:
            return "json"


def _is_list_of_texts(schema: JsonSchema) -> bool:
    items = schema.get("items")
    return (
        schema.get("type") == "array"
        and isinstance(items, Mapping)
        and items.get("type") == "string"
        and "enum" not in schema
    )


def texts_from_lines(text: str) -> list[str]:
    """Return the texts that were typed one a line."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def _is_long(name: str, schema: JsonSchema) -> bool:
    if "enum" in schema or "format" in schema:
        return False
    limit = schema.get("maxLength")
    if isinstance(limit, int):
        return limit > MULTILINE_LENGTH
    return name.lower() in MULTILINE_NAMES or "contentMediaType" in schema


def _value(field: FormField, text: str) -> JsonValue:
    for choice in field.enum:
        if text == (choice if isinstance(choice, str) else json.dumps(choice)):
            return choice
    match field.type:
        case "string":
            return text
        case "integer":
            return _integer(text)
        case "number":
            return _number(text)
        case "boolean":
            return _boolean(text)
        case "json":
            lines = field.lines and not text.lstrip().startswith("[")
            return texts_from_lines(text) if lines else _json(text)


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("must be a whole number, such as 5") from None


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError("must be a number, such as 2.5")
    return int(text) if text.strip().lstrip("+-").isdecimal() else number


def _boolean(text: str) -> bool:
    if text.strip().lower() in _TRUE | _FALSE:
        return text.strip().lower() in _TRUE
    raise ValueError("must be true or false")


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise ValueError('must be JSON, such as ["a", "b"] or {"key": 1}') from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
