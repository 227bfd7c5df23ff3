"""Prepare what the registry's templates show."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from config.lib.types import JsonObject, JsonSchema, JsonValue
from registry.api_definition import variables_of
from registry.api_rules import host_of
from registry.filters import BY_QUALITY, MINE, ToolFilters
from registry.models import Tool
from registry.models.tool import HealthState, ToolKind, Visibility
from registry.schema_forms import FormField, form_fields

TYPE_WORDS = {
    "string": "text",
    "number": "number",
    "integer": "whole number",
    "boolean": "yes or no",
    "array": "list",
    "object": "object",
}


@dataclass(frozen=True, kw_only=True)
class Chip:
    """One choice of a filter: where it leads, and whether it is in force."""

    text: str
    query: str
    current: bool


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One line of a tool's parameter table."""

    name: str
    type: str
    required: bool
    description: str
    default: str
    choices: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What an HTTP tool asks, and how it signs in."""

    method: str
    url: str
    host: str
    sign_in: str
    variables: list[str]


@dataclass(frozen=True, kw_only=True)
class Field:
    """One field of the try-it form, with what it holds."""

    field: FormField
    value: str
    choices: tuple[str, ...]
    error: str

    @property
    def id(self) -> str:
        """Return the field's id in the page."""
        return f"try-{self.field.name}"

    @property
    def checked(self) -> bool:
        """Tell whether a checkbox is ticked."""
        return self.value == "true"


def pretty(value: JsonValue) -> str:
    """Return a value as indented JSON."""
    return json.dumps(value, ensure_ascii=False, indent=2)


SIGN_INS = {
    "bearer": "It signs in with a bearer token.",
    "basic": "It signs in with a user name and a password.",
    "header": "It signs in with a key in a header.",
    "query": "It signs in with a key in the query.",
    "cookie": "It signs in with a key in a cookie.",
    "oauth_caller": "It sends the caller's own access token.",
}


def asked_by(tool: Tool) -> Asked | None:
    """Return the request of an HTTP tool, None for any other kind."""
    if tool.kind != ToolKind.API or tool.definition is None:
        return None
    auth = tool.definition.get("auth") or {}
    return Asked(
        method=tool.definition["method"],
        url=tool.definition["url"],
        host=host_of(tool.definition["url"]),
        sign_in=SIGN_INS.get(auth.get("type", ""), "It asks without signing in."),
        variables=variables_of(tool.definition),
    )


def parameters_of(schema: JsonSchema) -> list[Parameter]:
    """Return the parameters of an input schema, in its order."""
    properties = schema.get("properties", {})
    return [
        Parameter(
            name=field.name,
            type=_type_words(field, properties.get(field.name)),
            required=field.required,
            description=field.description,
            default="" if field.default is None else as_text(field.default),
            choices=tuple(as_text(choice) for choice in field.enum),
        )
        for field in form_fields(schema)
    ]


def try_fields(
    schema: JsonSchema, data: Mapping[str, str] | None, errors: Mapping[str, str]
) -> list[Field]:
    """Return the fields of the try-it form, holding what was sent or else the defaults."""
    return [
        Field(
            field=field,
            value=data.get(field.name, "") if data is not None else _default_text(field),
            choices=tuple(as_text(choice) for choice in field.enum),
            error=errors.get(field.name, ""),
        )
        for field in form_fields(schema)
    ]


def problems_by_field(extra: JsonObject) -> dict[str, str]:
    """Return the message for each top-level field of an InvalidArguments's `extra`."""
    told: dict[str, str] = {}
    for problem in extra.get("problems", ()):
        name = problem["path"].removeprefix("$.").split(".")[0].split("[")[0]
        told.setdefault(name, problem["message"])
    return told


def as_text(value: JsonValue) -> str:
    """Return a JSON value as a form shows it: a text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def filter_chips(filters: ToolFilters) -> dict[str, list[Chip]]:
    """Return the chips of each filter, by the filter's label; pressing one again takes it away."""
    return {
        "Kind": _chips(filters, "kind", ToolKind.choices),
        "Health": _chips(filters, "health", HealthState.choices),
        "Shared with": [
            *_chips(filters, "visibility", Visibility.choices),
            *_chips(filters, "owner", [(MINE, "Made by me")]),
        ],
        "Order": _chips(filters, "sort", [(BY_QUALITY, "Best quality first")]),
    }


def _chips(filters: ToolFilters, name: str, choices: Iterable[tuple[str, str]]) -> list[Chip]:
    chosen = getattr(filters, name)
    return [
        Chip(
            text=label,
            query=filters.query(**{name: "" if chosen == value else value}),
            current=chosen == value,
        )
        for value, label in choices
    ]


def _default_text(field: FormField) -> str:
    return "" if field.default is None else as_text(field.default)


def _type_words(field: FormField, schema: JsonValue) -> str:
    if field.enum:
        return "one of"
    named = schema.get("type") if isinstance(schema, Mapping) else None
    names = [named] if isinstance(named, str) else list(named or ())
    words = [TYPE_WORDS[name] for name in names if name in TYPE_WORDS]
    return " or ".join(words) or TYPE_WORDS.get(field.type, "JSON")
