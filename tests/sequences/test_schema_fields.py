"""The sequence's inputs as fields and as JSON, kept in step both ways."""

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.schemas import check_schema
from sequences.forms.schema_fields import (
    KINDS,
    OTHER,
    SchemaField,
    fields_from_schema,
    renames,
    schema_from_fields,
)
from sequences.forms.schema_posts import posted_schema, schema_act, schema_editor, with_input

EMPTY = {"type": "object", "properties": {}}
names = st.text("abcxyz_ü .-", min_size=1, max_size=8).map(str.strip).filter(bool)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab \n1", max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=5,
)
keywords = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "number", "integer", "boolean", "array", "object"])
        | st.just(["string", "null"]),
        "format": st.sampled_from(["date", "date-time", "email"]),
        "enum": st.lists(st.text("ab ", max_size=3) | st.integers(0, 3), max_size=3),
        "items": st.just({"type": "string"}) | st.just({}),
        "contentMediaType": st.sampled_from(["text/plain", "text/html"]),
        "title": st.text("ab", max_size=3),
        "description": st.text("ab ", max_size=4) | st.integers(0, 2),
        "default": json_values,
        "maxLength": st.integers(1, 500),
        "anyOf": st.just([{"type": "string"}, {"type": "null"}]),
        "x-own": json_values,
    },
)
schemas = st.builds(
    lambda properties, required, more: {"properties": properties, "required": required, **more},
    st.dictionaries(names, keywords | st.booleans(), max_size=4),
    st.lists(names, max_size=3, unique=True),
    st.fixed_dictionaries({}, optional={"type": st.just("object"), "$defs": st.just({"a": {}})}),
)
typed = st.builds(
    SchemaField,
    name=names,
    kind=st.sampled_from([kind for kind in KINDS if kind != "choice"]),
    required=st.booleans(),
    description=st.text("ab ", max_size=5).map(str.strip),
)

unhurried = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@unhurried
@given(schemas)
def test_a_schema_shown_as_fields_and_read_again_is_the_same_schema(schema: Any) -> None:
    fields = fields_from_schema(schema)
    assert fields is not None
    again = schema_from_fields(fields, schema)
    assert json.dumps(again) == json.dumps(schema)


@unhurried
@given(st.lists(typed, max_size=5, unique_by=lambda field: field.name))
def test_what_is_said_in_fields_is_read_from_the_schema_again(fields: list[SchemaField]) -> None:
    schema = schema_from_fields(fields, EMPTY)
    found = fields_from_schema(schema)
    assert [dataclasses.replace(field, was="") for field in found or ()] == fields
    assert check_schema(schema) == []


@unhurried
@given(schemas, st.lists(typed, min_size=1, max_size=4))
def test_changing_fields_loses_neither_a_field_nor_what_only_json_says(
    schema: Any, new: list[SchemaField]
) -> None:
    before = fields_from_schema(schema) or []
    changed = schema_from_fields([*before, *new], schema)
    assert len(changed["properties"]) == len(before) + len(new)
    for name, inner in schema["properties"].items():
        assert changed["properties"][name] == inner
    assert {key: changed[key] for key in schema if key.startswith("$")} == {
        key: schema[key] for key in schema if key.startswith("$")
    }


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "any"])
def test_each_kind_is_known_again(kind: str) -> None:
    schema = schema_from_fields([SchemaField(name="a", kind=kind)], EMPTY)
    assert fields_from_schema(schema)[0].kind == kind  # type: ignore[index]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("text", "12", "12"),
        ("integer", "12", 12),
        ("number", "2,5", 2.5),
        ("number", "two", "two"),
        ("boolean", "yes", True),
        ("boolean", "false", False),
        ("texts", "a\nb", ["a", "b"]),
        ("texts", '["a"]', ["a"]),
        ("object", '{"a": 1}', {"a": 1}),
        ("date", "2026-01-31", "2026-01-31"),
    ],
)
def test_a_default_is_of_the_type_of_its_field(kind: str, text: str, value: Any) -> None:
    schema = schema_from_fields([SchemaField(name="a", kind=kind, default=text)], EMPTY)
    assert schema["properties"]["a"]["default"] == value


def test_a_new_kind_keeps_what_was_said_of_the_input_and_drops_what_no_longer_fits() -> None:
    base = {
        "type": "object",
        "properties": {"a": {"type": "string", "title": "A", "minLength": 2, "default": "5"}},
        "required": ["a"],
    }
    (field,) = fields_from_schema(base) or ()
    assert field.kept == ("title", "minLength")
    changed = schema_from_fields([dataclasses.replace(field, kind="integer")], base)
    assert changed["properties"]["a"] == {"type": "integer", "title": "A", "default": 5}
    assert changed["required"] == ["a"]


def test_the_form_of_a_question_offers_only_what_a_person_can_be_asked() -> None:
    text = '{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "array",' + (
        ' "items": {"type": "string"}}}}'
    )
    rows = schema_editor(text, "steps-0-ask_schema").rows
    offered = [{name for name, _ in row.kinds} & {"texts", "object", "any"} for row in rows]
    assert offered == [set(), {"texts"}]  # what is there already stays to be seen
    assert "texts" in dict(schema_editor(text, "schema").rows[0].kinds)


def test_a_choice_without_choices_gets_two_to_start_from() -> None:
    schema = schema_from_fields([SchemaField(name="a", kind="choice")], EMPTY)
    assert schema["properties"]["a"]["enum"] == ["first", "second"]


def test_a_property_that_only_json_can_say_stays_as_it_is() -> None:
    base = {
        "type": "object",
        "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
    }
    (field,) = fields_from_schema(base) or ()
    assert (field.kind, field.kept) == (OTHER, ("anyOf",))
    described = dataclasses.replace(field, description="What it is.")
    changed = schema_from_fields([described], base)
    assert changed["properties"]["a"] == {**base["properties"]["a"], "description": "What it is."}


def posted(text: str, **changes: str) -> dict[str, str]:
    editor = schema_editor(text, "schema")
    data = {"schema": text, "schema-digest": editor.digest}
    for number, field in enumerate(editor.fields or ()):
        data |= {
            f"schema-{number}-{part}": getattr(field, part)
            for part in ("name", "was", "kind", "default", "description", "choices")
        }
        if field.required:
            data[f"schema-{number}-required"] = "1"
    return {**data, **{key.replace("__", "-"): value for key, value in changes.items()}}


TEXT = '{"type":"object","properties":{"city":{"type":"string"},"n":{}},"required":["city"]}'


def test_a_form_that_was_not_touched_leaves_the_json_as_it_was_typed() -> None:
    assert posted_schema(posted(TEXT), "schema").text == TEXT


def test_a_changed_field_changes_the_json_and_a_rename_is_told() -> None:
    sent = posted_schema(posted(TEXT, **{"schema-0-name": "place"}), "schema")
    assert json.loads(sent.text) == {
        "type": "object",
        "properties": {"place": {"type": "string"}, "n": {}},
        "required": ["place"],
    }
    assert sent.renamed == {"city": "place"}


def test_changed_json_counts_more_than_the_fields_beside_it() -> None:
    data = {**posted(TEXT), "schema": '{"type": "object"}'}
    assert posted_schema(data, "schema").text == '{"type": "object"}'


def test_json_that_is_broken_is_kept_as_typed_and_has_no_fields() -> None:
    assert posted_schema({**posted(TEXT), "schema": "{"}, "schema").text == "{"
    assert schema_editor("{", "schema").fields is None
    assert schema_act("{", "add") == "{"


def test_two_fields_of_one_name_are_both_kept() -> None:
    sent = posted_schema(posted(TEXT, **{"schema-1-name": "city"}), "schema")
    assert list(json.loads(sent.text)["properties"]) == ["city", "city_2"]
    assert sent.renamed == {"n": "city_2"}


def test_a_name_that_was_wiped_out_stays_what_it_was() -> None:
    sent = posted_schema(posted(TEXT, **{"schema-0-name": " "}), "schema")
    assert "city" in json.loads(sent.text)["properties"] if sent.text != TEXT else True
    assert renames([SchemaField(name="", was="city")], {"properties": {"city": {}}}) == {}


@pytest.mark.parametrize(
    ("action", "position", "names"),
    [
        ("add", 0, ["city", "n", "input"]),
        ("remove", 0, ["n"]),
        ("up", 1, ["n", "city"]),
        ("down", 0, ["n", "city"]),
        ("up", 0, ["city", "n"]),
        ("down", 1, ["city", "n"]),
        ("remove", 7, ["city", "n"]),
        ("dance", 0, ["city", "n"]),
    ],
)
def test_buttons_add_remove_and_move_inputs(action: str, position: int, names: list[str]) -> None:
    assert list(json.loads(schema_act(TEXT, action, position))["properties"]) == names


def test_a_new_input_does_not_take_the_place_of_one_that_means_something_else() -> None:
    text, name = with_input(TEXT, "city", {"type": "integer"}, required=True)
    assert name == "city_2"
    assert json.loads(text)["required"] == ["city", "city_2"]
    assert with_input(TEXT, "city", {"type": "string", "title": "City"}, required=True) == (
        TEXT,
        "city",
    )
    with pytest.raises(ValueError, match="added to"):
        with_input("[]", "city", {}, required=True)
