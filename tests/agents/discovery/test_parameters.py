"""Parameters as they are written by hand."""

import pytest

from agents.discovery.parameters import schema_of


@pytest.mark.parametrize(
    ("said", "properties", "required"),
    [
        ({}, {}, None),
        (
            {"x": {"type": "string", "description": "d"}},
            {"x": {"type": "string", "description": "d"}},
            ["x"],
        ),
        ({"x": "int"}, {"x": {"type": "integer"}}, ["x"]),
        ({"x": {"type": "any"}}, {"x": {}}, ["x"]),
        ({"x": {"type": "bool", "required": False}}, {"x": {"type": "boolean"}}, None),
        ({"x": {"type": "List", "optional": True}}, {"x": {"type": "array"}}, None),
        ({"x": {"default": 3}}, {"x": {"default": 3}}, None),
        ({"type": {"type": "string"}}, {"type": {"type": "string"}}, ["type"]),
        ({"type": "string"}, {"type": {"type": "string"}}, ["type"]),
        (
            {"x": {"type": "dict", "properties": {"y": {}}, "required": ["y"]}},
            {"x": {"type": "object", "properties": {"y": {}}, "required": ["y"]}},
            ["x"],
        ),
    ],
)
def test_the_loose_form_becomes_a_schema(said, properties, required):
    schema, problems = schema_of(said)

    assert problems == []
    assert schema["properties"] == properties
    assert schema.get("required") == required
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"x": {"type": "string"}}},
        {"type": "object"},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "properties": {}},
    ],
)
def test_a_json_schema_stays_as_it_is(schema):
    assert schema_of(schema) == (schema, [])


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("x", ("$.parameters", "must be an object")),
        ({"x": {"type": "town"}}, ("$.parameters.x.type", "is no type")),
        ({"x": "town"}, ("$.parameters.x", "is no type")),
        ({"x": None}, ("$.parameters.x", "must be an object {type, description}")),
        ({"x": {"required": "yes"}}, ("$.parameters.x.required", "must be true or false")),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(said, problem):
    [(path, message)] = schema_of(said)[1]

    assert path == problem[0]
    assert problem[1] in message
