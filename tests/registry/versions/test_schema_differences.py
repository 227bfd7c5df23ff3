"""What changed between two schemas, and what it does to callers."""

from typing import Any

import pytest

from registry.differences import Difference, differences


def object_of(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required or []}


def told(before: Any, after: Any, *, side: str = "input_schema") -> list[Difference]:
    return differences({side: before}, {side: after})


def said(before: Any, after: Any, *, side: str = "input_schema") -> list[tuple[str, str, str]]:
    return [
        (item.path, item.effect.value, item.sentence) for item in told(before, after, side=side)
    ]


TEXT = {"type": "string"}
NUMBER = {"type": "number"}

INPUTS = {
    "a required parameter is new": (
        object_of(),
        object_of(["text"], text=TEXT),
        ("$.text", "breaking", "“text” is new and required (text)."),
    ),
    "a required parameter with a default is filled": (
        object_of(),
        object_of(["n"], n={"type": "integer", "default": 3}),
        ("$.n", "compatible", "“n” is new and required, with a default (a whole number)."),
    ),
    "an optional parameter is new": (
        object_of(),
        object_of(text=TEXT),
        ("$.text", "compatible", "“text” is new and optional (text)."),
    ),
    "a parameter is required now": (
        object_of(limit=NUMBER),
        object_of(["limit"], limit=NUMBER),
        ("$.limit", "breaking", "“limit” is required now."),
    ),
    "a parameter is no longer required": (
        object_of(["limit"], limit=NUMBER),
        object_of(limit=NUMBER),
        ("$.limit", "compatible", "“limit” is no longer required."),
    ),
    "a parameter is gone from an open object": (
        object_of(text=TEXT),
        object_of(),
        ("$.text", "compatible", "“text” is gone; what calls send for it is not declared."),
    ),
    "a parameter is gone from a closed object": (
        {**object_of(text=TEXT), "additionalProperties": False},
        {**object_of(), "additionalProperties": False},
        ("$.text", "breaking", "“text” is gone; calls that send it are refused."),
    ),
    "a type is another": (
        object_of(n=TEXT),
        object_of(n=NUMBER),
        ("$.n", "breaking", "“n” is a number now; it was text."),
    ),
    "a type is wider": (
        object_of(n={"type": "integer"}),
        object_of(n=NUMBER),
        ("$.n", "compatible", "“n” is a number now; it was a whole number."),
    ),
    "a value cannot be chosen any more": (
        object_of(mode={"enum": ["fast", "slow"]}),
        object_of(mode={"enum": ["fast"]}),
        ("$.mode", "breaking", "“mode” can no longer be “slow”."),
    ),
    "a value can be chosen now": (
        object_of(mode={"enum": ["fast"]}),
        object_of(mode={"enum": ["fast", "slow"]}),
        ("$.mode", "compatible", "“mode” can also be “slow” now."),
    ),
    "a bound is narrower": (
        object_of(n={"type": "integer", "maximum": 100}),
        object_of(n={"type": "integer", "maximum": 10}),
        ("$.n", "breaking", "“n” must be at most 10; it was at most 100."),
    ),
    "a bound is wider": (
        object_of(n={"type": "string", "minLength": 3}),
        object_of(n={"type": "string", "minLength": 1}),
        (
            "$.n",
            "compatible",
            "“n” must be at least 1 characters long; it was at least 3 characters long.",
        ),
    ),
    "a bound is gone": (
        object_of(n={"type": "integer", "minimum": 1}),
        object_of(n={"type": "integer"}),
        ("$.n", "compatible", "“n” need not be at least 1 any more."),
    ),
    "a default is another": (
        object_of(n={"type": "integer", "default": 5}),
        object_of(n={"type": "integer", "default": 10}),
        ("$.n", "compatible", "“n” is 10 where it is left out; it was 5."),
    ),
    "a description is another": (
        object_of(n={"type": "integer", "description": "How many."}),
        object_of(n={"type": "integer", "description": "How many at most."}),
        ("$.n", "text", "“n” is described in other words."),
    ),
    "a deep parameter is new": (
        object_of(options=object_of(mode=TEXT)),
        object_of(options=object_of(["depth"], mode=TEXT, depth=NUMBER)),
        ("$.options.depth", "breaking", "“options.depth” is new and required (a number)."),
    ),
    "items are of another type": (
        object_of(tags={"type": "array", "items": TEXT}),
        object_of(tags={"type": "array", "items": NUMBER}),
        ("$.tags[]", "breaking", "“tags[]” is a number now; it was text."),
    ),
    "another form is taken": (
        object_of(n=TEXT),
        object_of(n={"anyOf": [TEXT, {"type": "null"}]}),
        ("$.n", "compatible", "“n” can also be null now."),
    ),
    "a form is taken no more": (
        object_of(n={"type": ["string", "null"]}),
        object_of(n={"type": "string"}),
        ("$.n", "breaking", "“n” is text now; it was null or text."),
    ),
    "a form among several is narrower": (
        object_of(n={"anyOf": [{"type": "integer", "maximum": 9}, TEXT]}),
        object_of(n={"anyOf": [{"type": "integer", "maximum": 5}, TEXT]}),
        (
            "$.n<a whole number>",
            "breaking",
            "“n<a whole number>” must be at most 5; it was at most 9.",
        ),
    ),
    "nothing else is taken": (
        object_of(),
        {**object_of(), "additionalProperties": False},
        ("$.*", "breaking", "The input takes no parameters beside those it names."),
    ),
    "a pattern is new": (
        object_of(n=TEXT),
        object_of(n={"type": "string", "pattern": "^a"}),
        ("$.n", "breaking", "“n” must keep the rule “pattern” now."),
    ),
}


@pytest.mark.parametrize(("before", "after", "expected"), INPUTS.values(), ids=INPUTS)
def test_a_change_of_the_input_is_told_with_its_effect(
    before: Any, after: Any, expected: Any
) -> None:
    assert said(before, after) == [expected]


def test_what_is_promised_of_the_answer_is_judged_the_other_way_round() -> None:
    before = object_of(["a"], a=TEXT, b=TEXT, c={"type": "integer"})
    after = object_of(a=TEXT, c=NUMBER, d=TEXT)

    assert said(before, after, side="output_schema") == [
        ("$.a", "breaking", "“a” may be missing from the answer now."),
        ("$.b", "breaking", "“b” is not in the answer any more."),
        ("$.c", "breaking", "“c” is a number now; it was a whole number."),
        ("$.d", "compatible", "“d” is new in the answer (text)."),
    ]


def test_references_are_followed_in_each_schema() -> None:
    before = {**object_of(who={"$ref": "#/$defs/Who"}), "$defs": {"Who": object_of(name=TEXT)}}
    after = object_of(who={"allOf": [object_of(["name"], name=TEXT)]})

    assert said(before, after) == [("$.who.name", "breaking", "“who.name” is required now.")]


def test_a_schema_that_refers_to_itself_is_compared_once() -> None:
    def tree(kind: Any) -> dict[str, Any]:
        node = object_of(value=kind, child={"$ref": "#/$defs/Node"})
        return {**object_of(root={"$ref": "#/$defs/Node"}), "$defs": {"Node": node}}

    assert [item.path for item in told(tree(TEXT), tree(NUMBER))] == ["$.root.value"]


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"$ref": "https://elsewhere.invalid/schema"},
        {"$ref": "#/nowhere"},
        {"properties": [], "required": "x", "items": 3, "enum": {}, "type": 4, "anyOf": {}},
        {"properties": {"a": False, "b": None}, "additionalProperties": 7},
        {"type": "array", "items": [TEXT], "prefixItems": {}},
    ],
)
def test_what_is_no_proper_schema_is_compared_without_failing(schema: Any) -> None:
    assert told(schema, schema) == []
    assert isinstance(told(object_of(a=TEXT), schema), list)
    assert isinstance(told(schema, object_of(a=TEXT)), list)
