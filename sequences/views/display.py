"""Prepare the fields of the forms that start and answer runs."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from config.lib.errors import DomainError
from config.lib.types import JsonObject, JsonSchema, JsonValue
from registry.schema_forms import FormField, form_fields
from sequences.forms.static_values import text_from_static


@dataclass(frozen=True, kw_only=True)
class RunField:
    """One field of the form that starts a run, with what it holds."""

    field: FormField
    value: str
    choices: tuple[str, ...]
    error: str
    prefix: str

    @property
    def id(self) -> str:
        """Return the field's id in the page."""
        return f"run-{self.prefix}{self.field.name}"

    @property
    def is_multiline(self) -> bool:
        """Tell whether it needs a text area; a text of several lines would lose them otherwise."""
        return self.field.multiline or "\n" in self.value

    @property
    def name(self) -> str:
        """Return the field's name in what is sent."""
        return f"{self.prefix}{self.field.name}"


def run_fields(
    schema: JsonSchema,
    sent: Mapping[str, str] | None,
    error: DomainError | None,
    *,
    prefix: str = "",
) -> list[RunField]:
    """Return a field for each input, holding what was sent or else its default.

    What is required comes first: the database keeps no order of a schema's inputs. `prefix` keeps
    the fields of several forms apart; the names in `sent` are without it.
    """
    errors = _errors_by_field(error)
    return [
        RunField(
            field=field,
            value=_held(field.default, field) if sent is None else sent.get(field.name, ""),
            choices=tuple(_text(choice) for choice in field.enum),
            error=errors.get(field.name, ""),
            prefix=prefix,
        )
        for field in sorted(form_fields(schema), key=lambda field: not field.required)
    ]


def texts_of(values: JsonObject, schema: JsonSchema) -> dict[str, str]:
    """Return values as the texts that a form of the schema holds."""
    return {
        field.name: _held(values[field.name], field)
        for field in form_fields(schema)
        if field.name in values
    }


def _errors_by_field(error: DomainError | None) -> dict[str, str]:
    told: dict[str, str] = {}
    for problem in error.extra.get("problems", ()) if error else ():
        name = problem["path"].removeprefix("$.").split(".")[0].split("[")[0]
        told.setdefault(name, problem["message"])
    return told


def _held(value: JsonValue, field: FormField) -> str:
    if value is None:
        return ""
    if field.type == "json" and isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)  # a text where anything may be is JSON, too
    return text_from_static(value, field)


def _text(value: JsonValue) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
