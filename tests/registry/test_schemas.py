"""Schemas and arguments are checked in plain words, and nothing can hang or be fetched."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.errors import InvalidArguments, ToolUnavailable
from registry.schemas import (
    canonical_digest,
    check_schema,
    property_problems,
    validate_arguments,
)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "minLength": 1, "pattern": "^[a-z ]+$"},
        "count": {"type": "integer", "default": 3, "minimum": 1, "maximum": 9},
        "mode": {"enum": ["upper", "lower"]},
        "options": {
            "type": "object",
            "default": {},
            "properties": {"tags": {"type": "array", "default": ["a"]}},
        },
        "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
        "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    },
    "required": ["text"],
    "additionalProperties": False,
    "$defs": {"item": {"type": "object", "properties": {"n": {"default": 1}}}},
}
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def refused(arguments: Any, schema: Any = SCHEMA) -> InvalidArguments:
    with pytest.raises(InvalidArguments) as caught:
        validate_arguments(schema, arguments)
    return caught.value


def test_defaults_are_filled_in_at_every_depth_without_touching_the_input():
    given_arguments = {"text": "a", "items": [{}, {"n": 2}]}
    filled = validate_arguments(SCHEMA, given_arguments)
    assert filled["count"] == 3
    assert filled["options"] == {"tags": ["a"]}
    assert filled["items"] == [{"n": 1}, {"n": 2}]
    assert given_arguments == {"text": "a", "items": [{}, {"n": 2}]}
    filled["options"]["tags"].append("b")
    assert validate_arguments(SCHEMA, {"text": "a"})["options"] == {"tags": ["a"]}


def test_defaults_of_a_schema_that_refers_to_itself_end():
    schema = {
        "type": "object",
        "properties": {"left": {"$ref": "#", "default": {}}, "right": {"$ref": "#", "default": {}}},
    }
    assert validate_arguments(schema, {}) == {"left": {}, "right": {}}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "text: is required"),
        ({"text": 5}, "text: must be text, not a number"),
        ({"text": ""}, "text: must have at least 1 characters"),
        ({"text": "A"}, "text: does not have the expected form"),
        ({"text": "a", "count": "5"}, "count: must be a whole number, not text"),
        ({"text": "a", "count": True}, "count: must be a whole number, not true or false"),
        ({"text": "a", "count": 10}, "count: must be at most 9"),
        ({"text": "a", "mode": "x"}, "mode: must be one of: upper, lower"),
        ({"text": "a", "either": []}, "either: fits none of the allowed forms"),
        ({"text": "a", "zz": 1}, "zz: is not known here (known: text, count, mode"),
        ({"text": "a", "items": [1]}, "items[0]: must be an object, not a number"),
        ([], "must be an object, not a list"),
    ],
)
def test_a_problem_is_told_with_its_field(arguments, said):
    assert said in refused(arguments).message


def test_all_problems_are_listed_up_to_ten_and_values_are_not_repeated():
    schema = {"type": "object", "properties": {f"p{n}": {"type": "null"} for n in range(15)}}
    error = refused({f"p{n}": "s3cret" for n in range(15)}, schema)
    assert "and 5 more" in error.message
    assert len(error.extra["problems"]) == 15
    assert error.extra["problems"][0] == {"path": "$.p0", "message": "must be null, not text"}
    assert "s3cret" not in str(error.as_dict())


def test_a_catastrophic_pattern_does_not_hang():
    evil = r"^(([a-z])+.)+[A-Z]([a-z])+$"
    started = time.thread_time()
    for schema, arguments in (
        ({"type": "object", "properties": {"a": {"pattern": evil}}}, {"a": "a" * 10_000}),
        ({"type": "object", "patternProperties": {evil: {}}}, {"a" * 10_000: 1}),
        (
            {"type": "object", "patternProperties": {evil: {}}, "additionalProperties": False},
            {"a" * 10_000: 1},
        ),
    ):
        assert "too long" in refused(arguments, schema).message
    assert time.thread_time() - started < 5


def test_pattern_properties_are_checked():
    schema = {
        "type": "object",
        "patternProperties": {"^x": {"type": "integer"}},
        "additionalProperties": {"type": "string"},
    }
    assert validate_arguments(schema, {"x1": 1, "b": "t"}) == {"x1": 1, "b": "t"}
    assert "x1: must be a whole number" in refused({"x1": "t"}, schema).message
    assert "b: must be text" in refused({"b": 1}, schema).message


def test_a_remote_reference_is_never_fetched():
    schema = {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema"}}}
    assert "is not found in this schema" in check_schema(schema)[0].message
    with pytest.raises(ToolUnavailable, match="which it does not contain"):
        validate_arguments(schema, {"a": 1})


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ([], "$"),
        ({}, "$.type"),
        ({"type": "array"}, "$.type"),
        ({"type": "object", "properties": {"a": {"type": "strng"}}}, "$.properties.a.type"),
        ({"type": "object", "required": True}, "$.required"),
        ({"type": "object", "properties": {"a": {"$ref": "#/no"}}}, "$.properties.a.$ref"),
        ({"type": "object", "properties": {"a": {"pattern": "(a"}}}, "$.properties.a"),
        ({"type": "object", "properties": {"a": {"pattern": "a" * 1001}}}, "$.properties.a"),
        ({"type": "object", "allOf": [{"$ref": "#"}]}, "$"),
        ({"type": "object", "default": float("nan")}, "$"),
        ({"type": "object", "unevaluatedProperties": False}, "$"),
        ({"type": "object", "patternProperties": {"(((a{1000}){1000}){1000})": {}}}, "$"),
        ({"type": "object", "properties": {"a": {"pattern": "(?:(?R))*"}}}, "$.properties.a"),
    ],
)
def test_a_schema_that_cannot_be_used_is_told_with_its_place(schema, path):
    assert [problem.path for problem in check_schema(schema)] == [path]


DRAFT = "https://json-schema.org/draft/2020-12/schema"
LARGE_PATTERN = {"properties": {"a": {"pattern": "(((a{1000}){1000}){1000})"}}}
DOUBLING = {
    "properties": {"a": {"$ref": "#/$defs/0"}},
    "$defs": {
        str(n): {"allOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} if n < 40 else {"type": "integer"}
        for n in range(41)
    },
}
DOUBLING_ALTERNATIVES = json.loads(json.dumps(DOUBLING).replace("allOf", "oneOf"))
DEFAULTS_FOR_EACH_ITEM = {
    "properties": {
        "a": {"type": "array", "items": {"properties": {"b": {"default": "x" * 100_000}}}}
    },
}


@pytest.mark.parametrize(
    ("schema", "argument"),
    [
        (LARGE_PATTERN, "a"),
        (DOUBLING, 1),
        (DOUBLING_ALTERNATIVES, 1),
        (DEFAULTS_FOR_EACH_ITEM, [{} for _ in range(10_000)]),
        ({"properties": {"a": {"unevaluatedItems": False}}}, [1]),
        ({"properties": {"a": {"multipleOf": 0.5}}}, 10**400),
        ({"properties": {"a": {"$ref": "#/title"}}, "title": "no schema"}, 1),
    ],
    ids=["pattern", "allOf", "oneOf", "defaults", "unevaluated", "number", "reference"],
)
def test_a_schema_that_cannot_be_applied_makes_its_tool_unavailable(schema, argument):
    with pytest.raises(ToolUnavailable) as caught:
        validate_arguments(schema, {"a": argument})
    assert "author" in caught.value.hint


def test_references_that_double_at_each_step_are_stopped_and_told():
    with pytest.raises(ToolUnavailable, match="too complex"):
        validate_arguments({"type": "object", **DOUBLING}, {"a": 1})
    assert "cannot be checked" in property_problems(DOUBLING, "a", 1)[0].message
    definitions = {**DOUBLING["$defs"], "40": {"type": "object"}}
    reached = {"type": "object", "$ref": "#/$defs/0", "$defs": definitions}
    assert "too complex" in check_schema(reached)[0].message


@pytest.mark.parametrize("dialect", [DRAFT, "http://json-schema.org/draft-07/schema#"])
def test_a_dialect_named_inside_a_schema_lifts_no_limit(dialect):
    inner = {"$schema": dialect, "pattern": r"^(([a-z])+.)+[A-Z]([a-z])+$"}
    schema = {"type": "object", "properties": {"a": inner}}
    assert "too long" in refused({"a": "a" * 10_000}, schema).message


def test_items_are_compared_in_linear_time():
    schema = {"type": "object", "properties": {"a": {"uniqueItems": True}}}
    items = [{"n": n} for n in range(20_000)]
    assert validate_arguments(schema, {"a": items}) == {"a": items}
    assert (
        "a: must not hold the same item twice" in refused({"a": [*items, {"n": 0}]}, schema).message
    )


def test_a_schema_is_checked_against_its_draft_in_linear_time():
    named = [[n] for n in range(20_000)]
    problems = check_schema({"type": "object", "required": named})
    assert problems[0] == ("$.required[0]", "must be text, not a list")
    draft_4 = "http://json-schema.org/draft-04/schema#"
    schema = {"$schema": draft_4, "type": "object", "properties": {"a": {"enum": named}}}
    assert check_schema(schema) == []


@pytest.mark.parametrize("alternative", [False, {"type": "null"}])
def test_the_value_is_not_repeated_for_each_alternative(alternative):
    schema = {"type": "object", "properties": {"a": {"anyOf": [alternative] * 100_000}}}
    with pytest.raises((InvalidArguments, ToolUnavailable)):
        validate_arguments(schema, {"a": "x" * 1_000_000})


def test_many_missing_fields_are_told_briefly():
    needed = {"required": [f"p{n}" for n in range(20_000)]}
    schema = {"type": "object", **needed, "properties": {"a": {"anyOf": [needed]}}}
    assert len(refused({"a": {}}, schema).message) < 3_000


@pytest.mark.parametrize("draft", ["draft-04", "draft-07", "draft/2019-09", "draft/2020-12"])
def test_each_draft_is_taken(draft):
    schema = {**SCHEMA, "$schema": f"http://json-schema.org/{draft}/schema#"}
    assert check_schema(schema) == []
    assert refused({}, schema)


@given(JSON)
def test_any_json_is_checked_as_a_schema_without_failing(value):
    check_schema(value)
    check_schema({"type": "object", "properties": {"a": value}})


@given(st.dictionaries(st.sampled_from(list(SCHEMA["properties"])), JSON))
def test_any_arguments_are_taken_or_refused(arguments):
    try:
        assert validate_arguments(SCHEMA, arguments).keys() >= arguments.keys()
    except InvalidArguments as error:
        assert error.extra["problems"]


def test_a_single_property_is_checked_with_its_references():
    assert property_problems(SCHEMA, "count", "x")[0].message == "must be a whole number, not text"
    assert property_problems(SCHEMA, "items", [1])[0].path == "$[0]"
    assert property_problems(SCHEMA, "unknown", 1) == []


@given(st.dictionaries(st.text(), st.integers()))
def test_a_digest_does_not_depend_on_the_order_of_keys(value):
    assert canonical_digest(value) == canonical_digest(dict(reversed(value.items())))
    assert len(canonical_digest(value)) == 64
