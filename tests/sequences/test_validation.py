"""A sequence is checked against its tools before it can run."""

from typing import Any

import pytest

from sequences.definition import parse
from sequences.validation import ToolShape, validate

INPUTS = {"type": "object", "properties": {"text": {"type": "string"}, "n": {"type": "integer"}}}
COUNT = ToolShape(
    "count_words",
    {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "unit": {"type": "string", "default": "words"},
            "limit": {"type": "integer"},
        },
        "required": ["text", "unit"],
        "additionalProperties": False,
    },
)
OPEN = ToolShape("anything", {"type": "object"})
TOOLS = {"count": COUNT, "open": OPEN}
TEXT = {"source": "initialInput", "key": "text"}


def problems(*steps: dict[str, Any], final: Any = None, **options: Any) -> list[tuple[Any, ...]]:
    numbered = [{"stepNumber": n, "toolToRunId": "open", **s} for n, s in enumerate(steps, 1)]
    definition = parse({"format": 1, "steps": numbered, "finalOutputMapping": final})
    found = validate(definition, **{"tools": TOOLS, "input_schema": INPUTS, **options})
    return [(problem.step, problem.field, problem.message) for problem in found]


def mapped(**fields: Any) -> dict[str, Any]:
    return {"inputMapping": {"a": fields}}


def test_a_sequence_that_fits_its_tools_has_no_problem():
    assert not problems(
        {"toolToRunId": "count", "inputMapping": {"text": TEXT}, "storeOutputAs": "counted"},
        {
            "inputMapping": {
                "all": {"source": "initialInput", "key": ""},
                "sum": {"source": "previousStep", "step": "counted", "path": "sum(items[*].n)"},
                "t": {
                    "source": "template",
                    "value": "{{ initial.n }} {{ steps.counted.items[?steps.q].zz | [0] }}"
                    "{{ length(steps.counted.items[0].x) }} {{ keys(initial) }} {{ `1` }}"
                    "{{ map(&foo.bar, steps.counted.items) }}",
                },
            },
            "outputDisplaySuccess": "{{ result.x }} {{ input.t }}",
            "outputDisplayFailure": "{{ error.message }}",
            "storeOutputAs": "b",
        },
        final={"x": {"source": "previousStep", "step": "b"}},
    )


@pytest.mark.parametrize(
    ("step", "field", "said"),
    [
        ({"toolToRunId": "zz"}, "toolToRunId", "does not exist, or you may not use it"),
        ({"toolToRunId": "me"}, "toolToRunId", "cannot call itself"),
        ({"toolToRunId": "count"}, "inputMapping.text", "“count_words” needs “text”"),
        (
            {"toolToRunId": "count", "inputMapping": {"text": TEXT, "txt": TEXT}},
            "inputMapping.txt",
            "has no input “txt”. Its inputs: text, unit, limit",
        ),
        (
            {
                "toolToRunId": "count",
                "inputMapping": {"text": TEXT, "limit": {"source": "static", "value": "five"}},
            },
            "inputMapping.limit",
            "must be a whole number, not text",
        ),
        (mapped(source="initialInput", key="zz"), "inputMapping.a", "no input “zz”. Its inputs"),
        (mapped(source="previousStep", step="zz"), "inputMapping.a", "No earlier step stores"),
        (mapped(source="previousStep", step="own"), "inputMapping.a", "has not run by then"),
        (
            mapped(source="template", value="{{ steps.own.x }}"),
            "inputMapping.a",
            "output of step 1",
        ),
        (mapped(source="template", value="{{ initial.zz }}"), "inputMapping.a", "no input “zz”"),
        (mapped(source="template", value="{{ result.x }}"), "inputMapping.a", "“result” is not"),
        (mapped(source="template", value="{{ zz }}"), "inputMapping.a", "“zz” is not known"),
        (mapped(source="template", value="{{ a..b }}"), "inputMapping.a", "cannot be read"),
        (mapped(source="template", value="{{ open"), "inputMapping.a", "not closed"),
        (
            mapped(source="template", value="{{ shout(initial.n) }}"),
            "inputMapping.a",
            "no function “shout”",
        ),
        ({"outputDisplaySuccess": "{{ error.x }}"}, "outputDisplaySuccess", "“error” is not"),
        ({"outputDisplayFailure": "{{ a..b }}"}, "outputDisplayFailure", "cannot be read"),
    ],
)
def test_a_problem_is_told_beside_its_step(step, field, said):
    (found,) = problems({"storeOutputAs": "own", **step}, self_id="me")
    assert found[:2] == (1, field)
    assert said in found[2]


def test_a_path_is_checked_for_syntax():
    first = {"storeOutputAs": "first"}
    (found,) = problems(first, mapped(source="previousStep", step="first", path="a..b"))
    assert found[0] == 2
    assert "The path is not valid" in found[2]


def test_the_final_output_may_name_any_step_but_no_other():
    step = {"storeOutputAs": "own"}
    assert not problems(step, final={"x": {"source": "previousStep", "step": "own"}})
    (found,) = problems(step, final={"x": {"source": "previousStep", "step": "zz"}})
    assert found[:2] == (None, "finalOutputMapping.x")


def test_an_input_schema_that_is_none_is_told():
    found = problems({}, input_schema={"type": "array"})
    assert found[0][1] == "inputSchema"
    assert problems({}, input_schema=[])[0][1] == "inputSchema"
