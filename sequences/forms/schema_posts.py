"""The editor of a schema as a form sends it: fields and JSON beside one another, kept in step.

Both are sent. The JSON comes with the digest of what it was when it was shown: where it was changed
it counts, else the fields do. So neither needs JavaScript, and neither overwrites the other.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from config.lib.jsontext import clean_text
from config.lib.types import JsonSchema, JsonValue
from sequences.forms.drafts import pretty
from sequences.forms.schema_fields import (
    SchemaField,
    fields_from_schema,
    free_name,
    kind_choices,
    renames,
    schema_from_fields,
)


@dataclass(frozen=True, kw_only=True)
class SchemaEditor:
    """What the template `sequences/_schema_fields.html` shows.

    `fields` is None where the JSON cannot be shown as fields, `more` are the keywords of the schema
    itself that no field shows.
    """

    prefix: str
    text: str
    fields: tuple[SchemaField, ...] | None
    more: tuple[str, ...]

    @property
    def asked(self) -> bool:
        """Tell whether a person is asked for the fields: the form of an approval step."""
        return _OF_STEP.match(self.prefix) is not None

    @property
    def digest(self) -> str:
        """Return what tells whether the JSON was changed since it was shown."""
        return _digest(self.text)

    @property
    def rows(self) -> list["FieldRow"]:
        """Return each field as a row of the form."""
        fields = self.fields or ()
        return [
            FieldRow(
                field=field,
                kinds=tuple(kind_choices(field.kind, self.asked)),
                prefix=f"{self.prefix}-{number}",
                up=self.action("up", number) if number else "",
                down=self.action("down", number) if number < len(fields) - 1 else "",
                remove=self.action("remove", number),
            )
            for number, field in enumerate(fields)
        ]

    @property
    def add(self) -> str:
        """Return the action of the button that adds a field."""
        return self.action("add")

    def action(self, name: str, *numbers: int) -> str:
        """Return the value of a button; `sequences.forms.mapping_actions` carries it out."""
        step = _OF_STEP.match(self.prefix)
        places = [int(step[1]), *numbers] if step else numbers
        return "-".join([f"{'ask' if step else 'schema'}-{name}", *map(str, places)])


@dataclass(frozen=True, kw_only=True)
class FieldRow:
    """One field of the editor; a button that would do nothing has no action."""

    field: SchemaField
    kinds: tuple[tuple[str, str], ...]
    prefix: str
    up: str
    down: str
    remove: str

    @property
    def choices(self) -> list[str]:
        """Return the choices one by one."""
        return self.field.choices.splitlines()


@dataclass(frozen=True)
class PostedSchema:
    """The JSON that was sent or that the fields mean, and the inputs that were renamed."""

    text: str
    renamed: Mapping[str, str]


def schema_editor(text: str, prefix: str) -> SchemaEditor:
    """Return the editor of a schema that is there as JSON, however broken; empty: no inputs."""
    schema = _read(text or '{"type": "object", "properties": {}}')
    fields = fields_from_schema(schema)
    shown = ("type", "properties", "required")
    return SchemaEditor(
        prefix=prefix,
        text=text,
        fields=None if fields is None else tuple(fields),
        more=tuple(key for key in schema if key not in shown) if isinstance(schema, dict) else (),
    )


def posted_schema(data: Mapping[str, str], prefix: str) -> PostedSchema:
    """Return the schema that a form with the editor means."""
    text = clean_text(data.get(prefix, "")).replace("\r\n", "\n")
    if data.get(f"{prefix}-digest") != _digest(text):
        return PostedSchema(text, {})
    base = _read(text or '{"type": "object", "properties": {}}')
    before = fields_from_schema(base)
    fields = _fields(data, prefix)
    if (
        before is None
        or not isinstance(base, dict)
        or fields == [_plain(field) for field in before]
    ):
        return PostedSchema(text, {})
    schema = schema_from_fields(fields, base)
    return PostedSchema(pretty(schema), renames(fields, schema))


def schema_act(text: str, action: str, position: int = 0) -> str:
    """Return the schema after a button: `add`, `remove`, `up` or `down` of the field there.

    What makes no sense changes nothing, and neither does JSON that cannot be shown as fields.
    """
    base = _read(text or '{"type": "object", "properties": {}}')
    fields = fields_from_schema(base)
    if fields is None or not isinstance(base, dict):
        return text
    other = position + {"up": -1, "down": 1}.get(action, 0)
    match action:
        case "add":
            fields.append(SchemaField(name=free_name("input", [field.name for field in fields])))
        case "remove" if position < len(fields):
            del fields[position]
        case "up" | "down" if position < len(fields) and 0 <= other < len(fields):
            fields[position], fields[other] = fields[other], fields[position]
        case _:
            return text
    return pretty(schema_from_fields(fields, base))


def with_input(text: str, name: str, schema: JsonSchema, *, required: bool) -> tuple[str, str]:
    """Return the sequence's schema with one more input, and the name it got there.

    An input of that name that takes the same is used as it is. Raises ValueError where the JSON is
    no schema of an object.
    """
    base = _read(text or '{"type": "object", "properties": {}}')
    if fields_from_schema(base) is None or not isinstance(base, dict):
        raise ValueError("The input schema is not one that an input can be added to.")
    properties = base.get("properties", {})
    if name in properties and _means(properties[name]) == _means(schema):
        return text, name
    name = free_name(name, properties)
    new = {**base, "properties": {**properties, name: dict(schema)}}
    if required:
        new["required"] = [*base.get("required", []), name]
    return pretty(new), name


_OF_STEP = re.compile(r"steps-(\d{1,3})-")
_FIELD = re.compile(r"-(\d{1,3})-name$")
_PARTS = ("name", "was", "kind", "default", "description", "choices")


def _fields(data: Mapping[str, str], prefix: str) -> list[SchemaField]:
    numbers = sorted(
        int(match[1])
        for key in data
        if key.startswith(f"{prefix}-")
        and (match := _FIELD.search(key))
        and key == f"{prefix}-{match[1]}-name"
    )
    fields = []
    for number in numbers:
        text = {
            part: clean_text(data.get(f"{prefix}-{number}-{part}", "")).replace("\r\n", "\n")
            for part in _PARTS
        }
        required = bool(data.get(f"{prefix}-{number}-required"))
        fields.append(_made(text, required))
    return fields


def _plain(field: SchemaField) -> SchemaField:
    return _made({part: getattr(field, part) for part in _PARTS}, field.required)


def _made(text: Mapping[str, str], required: bool) -> SchemaField:
    return SchemaField(
        name=text["name"],
        was=text["was"],
        kind=text["kind"],
        required=required,
        default=text["default"],
        description=text["description"],
        choices=text["choices"],
    )


def _means(schema: JsonValue) -> JsonValue:
    if not isinstance(schema, Mapping):
        return schema
    return {key: value for key, value in schema.items() if key not in ("title", "description")}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _read(text: str) -> JsonValue:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
