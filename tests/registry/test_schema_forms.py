"""A schema becomes a form, and a sent form becomes arguments."""

from typing import Any

import pytest

from registry.errors import InvalidArguments
from registry.schema_forms import arguments_from_form, form_fields

FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "title": "The text"},
        "n": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 2},
        "ratio": {"type": "number"},
        "sure": {"type": "boolean"},
        "level": {"enum": [1, 2, "three"]},
        "kind": {"$ref": "#/$defs/kind"},
        "nested": {"type": "object"},
        "lost": {"$ref": "#/$defs/none"},
    },
    "required": ["text"],
    "$defs": {"kind": {"type": "string", "enum": ["a", "b"]}},
}


def test_a_schema_becomes_fields_in_its_order():
    fields = {field.name: field for field in form_fields(FORM)}
    assert list(fields) == list(FORM["properties"])
    types = [field.type for field in fields.values()]
    assert types == ["string", "integer", "number", "boolean", "json", "string", "json", "json"]
    assert fields["text"].required
    assert fields["text"].multiline
    assert fields["text"].title == "The text"
    assert fields["n"].default == 2
    assert fields["kind"].enum == ("a", "b")


def test_a_form_becomes_typed_arguments():
    data = {"text": "x", "n": "5", "ratio": "2.5", "level": "1", "kind": "a", "nested": '{"a": 1}'}
    expected = {"text": "x", "n": 5, "ratio": 2.5, "sure": False, "level": 1, "kind": "a"}
    assert arguments_from_form(FORM, data) == {**expected, "nested": {"a": 1}}
    assert arguments_from_form(FORM, {"sure": "on", "ratio": "3"}) == {"sure": True, "ratio": 3}


def test_a_form_tells_every_wrong_field():
    data = {"n": "five", "ratio": "inf", "sure": "maybe", "nested": "{", "lost": "NaN"}
    with pytest.raises(InvalidArguments) as caught:
        arguments_from_form(FORM, data)
    assert set(caught.value.extra["fields"]) == set(data)
