"""Reading, querying and checking JSON."""

import json

import pytest

from config.lib.types import JsonValue
from registry.errors import ToolInputRejected
from tests.registry.builtins.calling import run


def problems(document: JsonValue, schema: JsonValue) -> dict[str, str]:
    arguments = {"document": json.dumps(document), "schema": json.dumps(schema)}
    return {told["path"]: told["message"] for told in run("json_validate", arguments)["problems"]}


@pytest.mark.parametrize(
    ("document", "schema", "path"),
    [
        ({"a": "5"}, {"properties": {"a": {"type": "integer"}}}, "$.a"),
        ([1, 1.0], {"uniqueItems": True}, "$"),
        ([{"a": [1]}, {"a": [1]}], {"uniqueItems": True}, "$"),
        ({"b": 1}, {"properties": {"a": {}}, "additionalProperties": False}, "$.b"),
        ([0], {"$defs": {"p": {"minimum": 1}}, "items": {"$ref": "#/$defs/p"}}, "$[0]"),
        ({"a": 1}, {"properties": {"a": {"not": {}}}}, "$.a"),
        (1, False, "$"),
        ("x", {"pattern": "^y$"}, "$"),
    ],
)  # fmt: skip
def test_a_problem_is_told_with_its_place(
    document: JsonValue, schema: JsonValue, path: str
) -> None:
    assert path in problems(document, schema)


@pytest.mark.parametrize(
    ("document", "schema"),
    [
        ([1, True, "1", [1], {"1": 1}], {"uniqueItems": True}),
        ({}, {"properties": {"a": {"default": "no number", "type": "integer"}}}),
        ({"document": 1}, {"required": ["document"]}),
        (1, True),
    ],
)
def test_a_document_that_fits_has_no_problems(document: JsonValue, schema: JsonValue) -> None:
    assert problems(document, schema) == {}


def test_at_most_fifty_problems_are_told() -> None:
    answer = run(
        "json_validate", {"document": str([1] * 99), "schema": '{"items": {"minimum": 2}}'}
    )
    assert len(answer["problems"]) == 50


@pytest.mark.parametrize("document", ["{'a': 1}", "NaN", "[Infinity]", "1e999", "9" * 5_000, ""])
def test_what_is_not_json_is_not_valid(document: str) -> None:
    answer = run("json_validate", {"document": document})
    assert answer["valid"] is False
    assert len(answer["problems"][0]["message"]) < 300


DOUBLING = {
    "$ref": "#/$defs/0",
    "$defs": {
        str(n): {"allOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} if n < 40 else {"type": "integer"}
        for n in range(41)
    },
}


@pytest.mark.parametrize(
    "schema",
    [
        "[]",
        '{"type": "nonsense"}',
        '{"pattern": "("}',
        '{"properties": {"never": {"pattern": "(a{30000}){30000}"}}}',
        '{"$ref": "#/$defs/missing"}',
        '{"$ref": "https://example.com/schema.json"}',
        '{"$ref": "#"}',
        '{"$ref": "#/title", "title": "no schema"}',
        '{"pattern": "^(a|a)*$"}',
        '{"anyOf": [' + ", ".join(['{"$ref": "#/$defs/a"}'] * 101) + '], "$defs": {"a": {}}}',
    ],
)
def test_a_schema_that_cannot_be_used_is_refused(schema: str) -> None:
    with pytest.raises(ToolInputRejected):
        run("json_validate", {"document": json.dumps("a" * 40 + "b"), "schema": schema})


def test_references_that_double_at_each_step_are_stopped() -> None:
    with pytest.raises(ToolInputRejected, match="too long"):
        run("json_validate", {"document": "1", "schema": json.dumps(DOUBLING)})


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("people[?age > `30`].name", ["Ada"]),
        ("people[*].{n: name, a: [age, @.age]}", [{"n": "Ada", "a": [36, 36]}]),
        ("join(', ', people[].name)", "Ada"),
        ("nothing", None),
    ],
)
def test_a_query_selects(query: str, expected: JsonValue) -> None:
    document = '{"people": [{"name": "Ada", "age": 36}]}'
    assert run("json_query", {"document": document, "query": query}) == {"result": expected}


@pytest.mark.parametrize(
    ("document", "query"),
    [
        ("[1]", "[@,@]|" * 60 + "@"),
        ("[1]", "[@,@]|" * 60 + "to_string(@)"),
        ("[1]", "[@,@][]|" * 50 + "@"),
        (json.dumps(["a" * 100] * 4_000), "join([0], @) | join(@, [@, @])"),
        (json.dumps("a" * 300_000), "@"),
        ("1", "to_number('1e999')"),
        ("1", "to_number('nan')"),
        ("[", "@"),
        ("1", "a["),
        ("1", "((((" * 100),
        ("[" * 5_000, "@"),
    ],
)
def test_a_query_that_is_too_much_or_wrong_is_refused(document: str, query: str) -> None:
    with pytest.raises(ToolInputRejected):
        run("json_query", {"document": document, "query": query})
