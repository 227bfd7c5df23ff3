"""The form in which a person answers what a turn asks, and what a sent one means."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict

from chat.forms import AGENT, CONVERSATION, PERSON
from chat.parts import Ask
from config.lib.types import JsonObject, JsonSchema, JsonValue
from registry.errors import InvalidArguments
from registry.schema_forms import FormField, arguments_from_form, form_fields

LONG_VALUE = 80
"""Characters from which on a value gets a text area."""
MOST_ROWS = 12

REST = "arguments"
"""The field that holds what no field of its own holds, as one JSON object."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """One argument of a call that waits for approval, with what it holds."""

    id: str
    name: str
    field: FormField
    value: str
    choices: tuple[str, ...] = ()
    error: str = ""

    @property
    def is_long(self) -> bool:
        """Tell whether it needs more than one line."""
        long = len(self.value) > LONG_VALUE or "\n" in self.value
        return self.field.multiline or long

    @property
    def rows(self) -> int:
        """Return how many lines are shown of it."""
        wrapped = sum(1 + len(line) // LONG_VALUE for line in self.value.splitlines())
        return min(max(wrapped, 2), MOST_ROWS)


@dataclass(frozen=True, kw_only=True)
class Given:
    """An answer as it was sent: `arguments` only where they were changed."""

    decision: str
    arguments: JsonObject | None = None
    note: str = ""
    remember: bool = False
    values: dict[str, str] = field(default_factory=dict)
    keep: str = CONVERSATION
    text: str = ""


def fields_of(
    ask: Ask, sent: Mapping[str, str] | None = None, errors: Mapping[str, str] | None = None
) -> list[Field]:
    """Return the fields for a call's arguments, holding what was sent or else what is asked."""
    asked = _arguments(ask)
    fields = []
    for item in _schema_fields(ask):
        name = f"arg.{item.name}"
        value = _shown(item, asked) if sent is None else _sent_text(item, sent)
        fields.append(
            Field(
                id=f"{ask.id}-{item.name}",
                name=name,
                field=item,
                value=value,
                choices=tuple(_as_text(choice) for choice in item.enum),
                error=(errors or {}).get(item.name, ""),
            )
        )
    rest = _rest(ask)
    if rest:
        value = _as_text(rest) if sent is None else sent.get(REST, "")
        fields.append(_rest_field(ask, value, (errors or {}).get(REST, "")))
    return fields


def given(ask: Ask, sent: QueryDict) -> Given:
    """Return what a sent form means.

    Raises InvalidArguments with `extra["fields"]`, the message for each argument.
    """
    decision = sent.get("decision", "")
    text = sent.get("text", "")
    if option := sent.get("option"):
        decision, text = "answer", option
    approved = ask.kind == "approval" and decision == "approve"
    names = ask.asked.get("names") or []
    return Given(
        decision=decision,
        arguments=_changed(ask, sent) if approved else None,
        note=sent.get("note", "").strip(),
        remember=sent.get("remember") == "true",
        values={n: v for n in names if (v := sent.get(f"value.{n}", ""))},
        keep=sent.get("keep", CONVERSATION),
        text=text,
    )


def keeping_choices(agent: str) -> list[tuple[str, str]]:
    """Return for how much a value may hold, as `[(value, label)]`.

    `agent` is the agent's name where it is the person's own, and else empty.
    """
    of_agent = [(AGENT, f"The agent {agent}")] if agent else []
    return [(CONVERSATION, "This conversation"), *of_agent, (PERSON, "All my agents")]


def _changed(ask: Ask, sent: QueryDict) -> JsonObject | None:
    """Return the arguments as they were edited, or None where they are as the agent wrote them.

    What was not touched stays exactly as it was, whatever a form can say of it.
    """
    asked = _arguments(ask)
    arguments = dict(asked)
    schema: dict[str, Any] = ask.asked.get("schema") or {}
    wrong: dict[str, str] = {}
    for item in _schema_fields(ask):
        text = _sent_text(item, sent)
        if text.replace("\r\n", "\n") == _shown(item, asked).replace("\r\n", "\n"):
            continue
        arguments.pop(item.name, None)
        try:
            arguments |= _one(schema, item.name, text)
        except InvalidArguments as error:
            wrong |= error.extra["fields"]
    rest, others = _rest(ask), sent.get(REST, "")
    if rest and others.replace("\r\n", "\n") != _as_text(rest):
        try:
            arguments = {k: v for k, v in arguments.items() if k not in rest} | _object(others)
        except ValueError as error:
            wrong[REST] = str(error)
    if wrong:
        raise InvalidArguments(
            "These arguments cannot be read.", "Correct the marked fields.", fields=wrong
        )
    return arguments if arguments != asked else None


def _one(schema: JsonSchema, name: str, text: str) -> JsonObject:
    only = {**schema, "properties": {name: schema["properties"][name]}}
    return arguments_from_form(only, {name: text})


def _object(text: str) -> JsonObject:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ValueError('must be a JSON object, such as {"key": 1}')  # noqa: TRY004
    return value


def _arguments(ask: Ask) -> JsonObject:
    asked = ask.asked.get("arguments")
    return asked if isinstance(asked, dict) else {}


def _schema_fields(ask: Ask) -> list[FormField]:
    schema = ask.asked.get("schema")
    return form_fields(schema) if isinstance(schema, dict) else []


def _rest(ask: Ask) -> JsonObject:
    """Return the arguments that the tool's schema has no property for."""
    known = {item.name for item in _schema_fields(ask)}
    return {name: value for name, value in _arguments(ask).items() if name not in known}


def _rest_field(ask: Ask, value: str, error: str) -> Field:
    title = "Other arguments" if _schema_fields(ask) else "Arguments"
    return Field(
        id=f"{ask.id}-{REST}",
        name=REST,
        field=FormField(
            name=REST,
            type="json",
            title=title,
            description="",
            required=False,
            default=None,
            enum=(),
            format="",
            multiline=True,
        ),
        value=value,
        error=error,
    )


def _sent_text(item: FormField, sent: Mapping[str, str]) -> str:
    text = sent.get(f"arg.{item.name}", "")
    return text or "false" if item.type == "boolean" and not item.enum else text


def _shown(item: FormField, arguments: JsonObject) -> str:
    """Return an argument as its field shows it."""
    value = arguments.get(item.name)
    if item.type == "boolean" and not item.enum:
        return "true" if value is True else "false"
    if value is None:
        return ""
    if item.type == "json":
        return json.dumps(value, ensure_ascii=False, indent=2)
    return _as_text(value)


def _as_text(value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=2 if isinstance(value, dict) else None)
