"""Conditions, loops, branches, questions and fallback values are checked at save."""

from typing import Any

import pytest

from sequences.definition import parse
from sequences.flow import flow_problems
from sequences.notices import notices
from sequences.validation import ToolShape, validate

INPUTS = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "list": {
            "type": "array",
            "items": {"type": "object", "properties": {"id": {"type": "integer"}}},
        },
    },
}
OUT = {"type": "object", "properties": {"total": {"type": "integer"}, "words": {"type": "array"}}}
TOOLS = {
    "open": ToolShape("anything", {"type": "object"}),
    "count": ToolShape(
        "count_words",
        {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        output_schema=OUT,
        pinned={2: {"type": "object", "properties": {"n": {"type": "integer"}}}},
        pinned_outputs={2: {"type": "string"}},
    ),
}
ALL = {"source": "initialInput", "key": "list"}
COUNT = {
    "toolToRunId": "count",
    "inputMapping": {"text": {"source": "initialInput", "key": "text"}},
    "storeOutputAs": "counted",
}
Told = list[tuple[int | None, str | None, str]]


def definition_of(*steps: dict[str, Any], final: Any = None) -> Any:
    numbered = [
        {"stepNumber": n, **({} if "approval" in s else {"toolToRunId": "open"}), **s}
        for n, s in enumerate(steps, 1)
    ]
    return parse({"format": 1, "steps": numbered, "finalOutputMapping": final})


def told(*steps: dict[str, Any], final: Any = None) -> Told:
    found = validate(definition_of(*steps, final=final), tools=TOOLS, input_schema=INPUTS)
    return [(problem.step, problem.field, problem.message) for problem in found]


def flow(*steps: dict[str, Any], final: Any = None) -> Told:
    found = flow_problems(definition_of(*steps, final=final), tools=TOOLS, input_schema=INPUTS)
    return [(problem.step, problem.field, problem.message) for problem in found]


def noticed(*steps: dict[str, Any], final: Any = None) -> Told:
    found = notices(definition_of(*steps, final=final), tools=TOOLS, input_schema=INPUTS)
    return [(problem.step, problem.field, problem.message) for problem in found]


def reads(step: str, path: str = "") -> dict[str, Any]:
    return {"inputMapping": {"a": {"source": "previousStep", "step": step, "path": path}}}


def expression(value: str) -> dict[str, Any]:
    return {"inputMapping": {"a": {"source": "expression", "value": value}}}


def loop(items: Any, **fields: Any) -> dict[str, Any]:
    return {"forEach": {"items": items, **fields}}


def test_a_sequence_with_every_part_has_no_problem():
    steps = (
        {**COUNT, "when": "size(initial.list) > 0 && initial.text != ''", "disabled": False},
        {
            **loop(ALL, parallel=4),
            "when": "has(steps.counted.total) && item.id > 1 && index < 5",
            "inputMapping": {
                "a": {"source": "item", "path": "id"},
                "b": {"source": "template", "value": "{{ item.id }}/{{ index }}"},
                "c": {"source": "expression", "value": "[steps.counted.total, item.id, index]"},
            },
            "storeOutputAs": "each",
        },
        {"parallel": {"group": "g", "branch": "a"}, "storeOutputAs": "left"},
        {"parallel": {"group": "g", "branch": "a"}, **reads("left")},
        {"parallel": {"group": "g", "branch": "b"}, "storeOutputAs": "right"},
        {
            "approval": {
                "title": "Send?",
                "message": "{{ length(steps.each) }} of {{ initial.text }}",
                "inputSchema": {
                    "type": "object",
                    "properties": {"to": {"type": "string"}, "how": {"enum": ["a", 1]}},
                },
            },
            "storeOutputAs": "asked",
        },
        {**expression("steps.asked.values.to || initial.text"), "when": "steps.asked.approved"},
    )
    final = {"x": {"source": "expression", "value": "[steps.left, steps.right]"}}
    assert not told(*steps, final=final)
    assert not flow(*steps, final=final)


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("1 +", "“1 +” cannot be read: something is missing at its end. Compare with =="),
        ("initial.text = 'a'", "cannot be read from “= 'a'” on. Compare with =="),
        ("true and false", "“true and false” cannot be read from “and false” on. Compare"),
        ("   ", "The condition is empty"),
        ("nope > 1", "“nope” is not known in this condition. A name in it starts with one of"),
        ("initial.nope", "no input “nope”. Its inputs: text, list"),
        ("initial['nope'] == 1", "no input “nope”"),
        ("has(steps.nope)", "No earlier step stores its output as “nope”"),
        ("steps.own.total > 1", "“own” is the output of step 1, which has not run by then"),
        ("item.id > 1", "“item” is there only in a step that is repeated"),
        ("shout(initial.text)", "There is no function “shout” in conditions. Use one of: bytes"),
        ("1 + 1", "gives '2', not true or false"),
        ("initial.list.all(a, a.b.all(c, c.all(d, d)))", "through lists at most 2 times"),
    ],
)
def test_a_condition_is_checked(when, said):
    (found, *more) = told({"when": when, "storeOutputAs": "own"})
    assert not more
    assert found[:2] == (1, "when")
    assert said in found[2]


def test_what_a_condition_names_in_a_text_or_a_macro_is_no_reference():
    when = "initial.list.exists(nope, nope.id == 1) && initial.text != 'steps.nope'"
    assert not told({"when": when})


@pytest.mark.parametrize(
    ("step", "field", "said"),
    [
        (loop({"source": "static", "value": []}), "forEach.items", "The list is empty"),
        (loop({"source": "static", "value": "a"}), "forEach.items", "needs a list, such as"),
        (
            loop({"source": "static", "value": [1, 2, 3]}, maxItems=2),
            "forEach.items",
            "has 3 items, more than the 2",
        ),
        (loop({"source": "item"}), "forEach.items", "cannot come from its own item"),
        (loop({"source": "template", "value": "a"}), "forEach.items", "gives a text, and a loop"),
        (
            loop({"source": "initialInput", "key": "nope"}),
            "forEach.items",
            "no input “nope”",
        ),
        (
            loop({"source": "expression", "value": "item.list"}),
            "forEach.items",
            "“item” is there only in a step that is repeated",
        ),
        (
            {"inputMapping": {"a": {"source": "item"}}},
            "inputMapping.a",
            "“item” is there only in a step that is repeated",
        ),
        (expression("index"), "inputMapping.a", "“index” is there only"),
        (expression("a..b"), "inputMapping.a", "The expression is not valid"),
        (expression("nope.b"), "inputMapping.a", "“nope” is not known in this expression"),
        (expression("steps.nope || 'a'"), "inputMapping.a", "No earlier step stores"),
        (expression("shout(initial)"), "inputMapping.a", "no function “shout”"),
        (
            {**loop(ALL), "inputMapping": {"a": {"source": "item", "path": "a..b"}}},
            "inputMapping.a",
            "The path is not valid",
        ),
        (
            {"approval": {"message": "{{ initial.nope }}"}},
            "approval.message",
            "no input “nope”",
        ),
        (
            {"approval": {"inputSchema": {"type": "array"}}},
            "approval.inputSchema",
            "The form is not valid (type): The form needs “type”: “object”",
        ),
        (
            {
                "approval": {
                    "inputSchema": {
                        "type": "object",
                        "properties": {"to": {"type": "object"}},
                    }
                }
            },
            "approval.inputSchema",
            "The form cannot ask for “to”",
        ),
        (
            {**COUNT, "fallback": {"value": {"total": "none"}}},
            "fallback.value",
            "not like what “count_words” gives, which later steps rely on: “value.total” must be",
        ),
        (
            {**COUNT, "fallback": {"value": '{"total": 0'}},
            "fallback.value",
            "it begins like JSON but is none, so look for a missing bracket or quotation mark.",
        ),
        ({"outputDisplaySuccess": "{{ initial.nope }}"}, "outputDisplaySuccess", "no input “nope”"),
    ],
)
def test_a_part_of_a_step_is_checked(step, field, said):
    (found, *more) = told(step)
    assert not more
    assert found[:2] == (1, field)
    assert said in found[2]


@pytest.mark.parametrize("value", [{"total": 0}, [{"total": 0}], []])
def test_the_fallback_of_a_loop_is_an_output_or_the_list_of_all(value):
    step = {**COUNT, **loop(ALL), "fallback": {"value": value}}
    assert not told(step)


def test_what_another_branch_stores_is_not_there_yet():
    (found,) = told(
        {"parallel": {"group": "g", "branch": "a"}, "storeOutputAs": "left"},
        {"parallel": {"group": "g", "branch": "b"}, **reads("left")},
        reads("left"),
    )
    assert found[:2] == (2, "inputMapping.a")
    assert "in another branch, which runs at the same time" in found[2]


def test_what_a_step_that_is_switched_off_would_store_is_not_there():
    found = told(
        {**COUNT, "disabled": True},
        reads("counted"),
        final={"x": {"source": "previousStep", "step": "counted"}},
    )
    assert [item[:2] for item in found] == [(2, "inputMapping.a"), (None, "finalOutputMapping.x")]
    assert "step 1, which is switched off. Switch it on" in found[0][2]


def test_a_step_that_is_switched_off_is_not_checked_itself():
    off = {"toolToRunId": "gone", "when": "nope", "disabled": True, **reads("nope")}
    assert not told(off)
    assert not flow(off)


def test_the_final_output_knows_no_item():
    (found,) = told({}, final={"x": {"source": "item"}})
    assert found[:2] == (None, "finalOutputMapping.x")


OLD = {"toolToRunId": "count", "toolVersion": 2}
TOTAL_AS_TEXT = {"inputMapping": {"text": {"source": "expression", "value": "steps.counted.total"}}}


@pytest.mark.parametrize(
    ("steps", "field", "said"),
    [
        ([loop({"source": "initialInput", "key": "text"})], "forEach.items", "is text. Map a list"),
        (
            [COUNT, loop({"source": "previousStep", "step": "counted", "path": "total"})],
            "forEach.items",
            "“total” of the output of “counted” is a whole number. Map a list.",
        ),
        (
            [COUNT, loop({"source": "previousStep", "step": "counted", "path": "nope"})],
            "forEach.items",
            "“nope” is not in it. What is there: total, words",
        ),
        (
            [{**loop(ALL), **COUNT, "inputMapping": {"text": {"source": "item", "path": "id"}}}],
            "inputMapping.text",
            "“count_words” takes text as “text”, but “id” of the item of the loop is a whole",
        ),
        (
            [{**loop(ALL), "inputMapping": {"a": {"source": "item", "path": "nope"}}}],
            "inputMapping.a",
            "It reads “nope” from the item of the loop. “nope” is not in it. What is there: id.",
        ),
        (
            [{**COUNT, **loop(ALL)}, reads("counted", "total")],
            "inputMapping.a",
            "“total” is not in it. What is there: a list",
        ),
        (
            [COUNT, {**COUNT, "storeOutputAs": "b", **TOTAL_AS_TEXT}],
            "inputMapping.text",
            "but the expression is a whole number",
        ),
        ([COUNT, expression("steps.counted.nope")], "inputMapping.a", "“nope” is not in it"),
        ([COUNT, {"when": "steps.counted.nope > 1"}], "when", "It reads “nope” of “steps.counted”"),
        (
            [{"approval": {}, "storeOutputAs": "asked"}, {"when": "steps.asked.said"}],
            "when",
            "What is there: approved, by, note, values",
        ),
        (
            [COUNT, {"approval": {"message": "{{ steps.counted.nope }}"}}],
            "approval.message",
            "Its template reads “steps.counted.nope”",
        ),
        (
            [{**OLD, "storeOutputAs": "old"}, reads("old", "x")],
            "inputMapping.a",
            "What is there: text",
        ),
        (
            [{**OLD, "inputMapping": {"n": {"source": "initialInput", "key": "text"}}}],
            "inputMapping.n",
            "takes a whole number as “n”",
        ),
    ],
)
def test_what_flows_through_a_part_is_followed(steps, field, said):
    (found,) = flow(*steps)
    assert found[:2] == (len(steps), field)
    assert said in found[2]


def test_a_condition_that_asks_first_may_read_what_no_schema_names():
    assert not flow(COUNT, {"when": "has(steps.counted.more) && steps.counted.more > 1"})


SOMETIMES = {**COUNT, "when": "initial.text != ''"}
PASSED_OVER = {**COUNT, "continueOnFailure": True}


@pytest.mark.parametrize("step", [SOMETIMES, PASSED_OVER])
def test_reading_what_may_not_be_there_is_noticed(step):
    (found,) = noticed(step, reads("counted"))
    assert found[:2] == (2, "inputMapping.a")
    assert "and then leaves no “counted”: this step would fail" in found[2]
    (found,) = noticed(step, final={"x": {"source": "previousStep", "step": "counted"}})
    assert found[:2] == (None, "finalOutputMapping.x")


@pytest.mark.parametrize(
    "steps",
    [
        [SOMETIMES, {**reads("counted"), "when": "has(steps.counted)"}],
        [SOMETIMES, {**reads("counted"), "when": SOMETIMES["when"]}],
        [SOMETIMES, expression("steps.counted.total || `0`")],
        [{**PASSED_OVER, "fallback": {"value": {}}}, reads("counted")],
        [COUNT, reads("counted")],
        [SOMETIMES, {**reads("counted"), "disabled": True}],
    ],
)
def test_what_is_provided_for_is_not_noticed(steps):
    assert not noticed(*steps)


def test_a_message_that_reads_nothing_is_noticed():
    (found,) = noticed({**COUNT, "outputDisplaySuccess": "{{ result.nope }}"})
    assert found[:2] == (1, "outputDisplaySuccess")
