"""Inputs are worked out from the context, and a failure says what is there instead."""

from typing import Any

import pytest

from sequences.definition import InputSource, parse
from sequences.mapping import (
    ExpressionError,
    MappingFailed,
    MissingValueError,
    compile_expression,
    evaluate,
    final_output,
    resolve_inputs,
)

CONTEXT: dict[str, Any] = {
    "initial": {"name": "Ada", "nothing": None, "n": 3},
    "steps": {"counted": {"total": 7, "items": [1, "zwei", {"x": "é"}]}, "plain": "text"},
}


def source(**fields: Any) -> InputSource:
    step = {"stepNumber": 1, "toolToRunId": "t", "inputMapping": {"field": fields}}
    return parse({"format": 1, "steps": [step]}).steps[0].input_mapping["field"]


def resolved(**fields: Any) -> Any:
    return resolve_inputs({"field": source(**fields)}, CONTEXT)["field"]


def failure(**fields: Any) -> MappingFailed:
    with pytest.raises(MappingFailed) as caught:
        resolved(**fields)
    assert caught.value.field == "field"
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({"source": "static", "value": [1, {"a": None}]}, [1, {"a": None}]),
        ({"source": "initialInput", "key": "name"}, "Ada"),
        ({"source": "initialInput", "key": "nothing"}, None),
        ({"source": "initialInput", "key": ""}, CONTEXT["initial"]),
        ({"source": "initialInput", "key": None}, CONTEXT["initial"]),
        ({"source": "previousStep", "step": "counted", "path": "total"}, 7),
        ({"source": "previousStep", "step": "counted", "path": "items[-1].x"}, "é"),
        ({"source": "previousStep", "step": "counted", "path": "length(items)"}, 3),
        ({"source": "previousStep", "step": "plain", "path": " "}, "text"),
        ({"source": "template", "value": "no expression"}, "no expression"),
        ({"source": "template", "value": "Hi {{ initial.name }}, {{initial.n}}!"}, "Hi Ada, 3!"),
        ({"source": "template", "value": "{{ steps.counted.total }}"}, "7"),
        ({"source": "template", "value": "{{ steps.counted.items }}"}, '[1, "zwei", {"x": "é"}]'),
        ({"source": "template", "value": "{{ initial.nothing }}"}, "null"),
        ({"source": "template", "value": "{{ length(steps.counted.items) }} items"}, "3 items"),
        ({"source": "template", "value": "{{ initial.zz || 'none' }}"}, "none"),
        ({"source": "template", "value": "{{ '{{' }}"}, "{{"),
    ],
)
def test_a_source_gives_its_value(fields, value):
    assert resolved(**fields) == value


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"source": "initialInput", "key": "zz"}, "“zz” from the sequence's input. What is there"),
        ({"source": "previousStep", "step": "zz"}, "step “zz”, which left none. Steps with an out"),
        (
            {"source": "previousStep", "step": "counted", "path": "totl"},
            "There is no “totl”. What is there: total, items.",
        ),
        (
            {"source": "previousStep", "step": "counted", "path": "items[9]"},
            "There is no item 9. What is there: a list of 3 items.",
        ),
        ({"source": "previousStep", "step": "counted", "path": "total.x"}, "there: a number."),
        ({"source": "previousStep", "step": "plain", "path": "[0]"}, "there: a text."),
        ({"source": "previousStep", "step": "counted", "path": "a..b"}, "cannot be read near ch"),
        ({"source": "previousStep", "step": "counted", "path": "zz[*].x"}, "gives nothing here"),
        ({"source": "template", "value": "{{ initial.nothing.x }}"}, "there: nothing (null)."),
        ({"source": "template", "value": "{{ length(initial.zz) }}"}, "does not fit the data"),
        ({"source": "template", "value": "{{ initial.name"}, "not closed"),
        ({"source": "template", "value": "{{ }}"}, "is empty"),
    ],
)
def test_a_missing_value_is_told_with_what_is_there(fields, said):
    assert said in failure(**fields).message


def test_the_names_that_are_there_are_told_up_to_a_limit():
    with pytest.raises(MissingValueError, match=r"k19 and 5 more"):
        evaluate("zz", {f"k{n}": n for n in range(25)})
    with pytest.raises(MissingValueError, match=r"there: nothing\."):
        evaluate("zz", {})
    with pytest.raises(MissingValueError, match="true or false"):
        evaluate("a.b", {"a": True})


def test_a_resolved_value_is_a_copy():
    value = resolved(source="previousStep", step="counted", path="items")
    value.append("changed")
    assert len(CONTEXT["steps"]["counted"]["items"]) == 3


@pytest.mark.parametrize("expression", ["", "  ", "a..b", '"', "(" * 900, "a" * 1001, "foo("])
def test_an_expression_that_cannot_be_read_is_refused_in_plain_words(expression):
    with pytest.raises(ExpressionError, match=r"expression|cannot be read"):
        compile_expression(expression)


def test_data_nested_too_deeply_is_a_missing_value():
    data: Any = 0
    for _ in range(3_000):
        data = [data]
    with pytest.raises(MissingValueError, match="nested too deeply"):
        evaluate("to_string(@)", data)


@pytest.mark.parametrize(
    ("expression", "data"),
    [
        (" | ".join(["[@, @]"] * 60), {"a": 1}),
        ("a[*].join(',', b)", {"a": [{"b": ["x" * 1_000] * 100}] * 60}),
    ],
)
def test_an_expression_that_builds_too_much_is_refused(expression, data):
    with pytest.raises(MissingValueError, match="gives too much"):
        evaluate(expression, data)


def test_the_final_output_is_mapped_or_absent():
    step = {"stepNumber": 1, "toolToRunId": "t"}
    final = {"sum": {"source": "previousStep", "step": "counted", "path": "total"}}
    mapped = parse({"format": 1, "steps": [step], "finalOutputMapping": final})
    assert final_output(mapped, CONTEXT) == {"sum": 7}
    assert final_output(parse({"format": 1, "steps": [step]}), CONTEXT) is None
