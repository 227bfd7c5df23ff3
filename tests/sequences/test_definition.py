"""A definition is taken whole or refused with every problem and its place."""

import copy
from typing import Any

import pytest

from sequences.definition import DefinitionInvalid, Problem, parse, problem_at, to_json

VALID: dict[str, Any] = {
    "format": 1,
    "steps": [
        {
            "stepNumber": 1,
            "toolToRunId": "tool-1",
            "toolVersion": None,
            "inputMapping": {
                "text": {"source": "initialInput", "key": "text"},
                "mode": {"source": "static", "value": {"deep": ["upper"]}},
                "title": {"source": "template", "value": "Hello {{ initial.name }}"},
            },
            "outputDisplaySuccess": "Counted {{ result.total }}",
            "outputDisplayFailure": "Could not count: {{ error.message }}",
            "continueOnFailure": False,
            "storeOutputAs": "counted",
            "retry": {"attempts": 3, "backoffSeconds": 2},
            "timeoutSeconds": 30,
        },
        {"stepNumber": 2, "toolToRunId": "tool-2"},
    ],
    "finalOutputMapping": {"total": {"source": "previousStep", "step": "counted", "path": "total"}},
}


def changed(**step: Any) -> dict[str, Any]:
    data = copy.deepcopy(VALID)
    data["steps"][0] |= step
    return data


def problems_of(data: Any) -> list[Problem]:
    with pytest.raises(DefinitionInvalid) as caught:
        parse(data)
    assert caught.value.extra["problems"]
    return caught.value.problems


def messages_of(data: Any) -> str:
    return " ".join(problem.message for problem in problems_of(data))


def test_a_definition_survives_the_way_to_json_and_back():
    definition = parse(VALID)
    assert parse(to_json(definition)) == definition
    empty = {"when": None, "forEach": None}
    assert to_json(definition)["steps"][0] == {**VALID["steps"][0], **empty}
    assert "maxConcurrentRuns" not in to_json(definition)
    assert definition.steps[1].timeout_seconds == 30
    assert definition.steps[1].retry is None


def test_a_definition_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        parse(VALID).steps[0].step_number = 2


@pytest.mark.parametrize(
    ("step", "field", "said"),
    [
        ({"when": 1}, "when", "must be text"),
        ({"when": ""}, "when", "must not be empty"),
        ({"when": "a" * 501}, "when", "at most 500 characters"),
        ({"until": None}, "until", "“until” is not known here. Known: stepNumber, key, title"),
        ({"key": "1st"}, "key", "letters, digits and underscores"),
        ({"title": "t" * 121}, "title", "at most 120 characters"),
        ({"disabled": 1}, "disabled", "true or false"),
        ({"fallback": {}}, "fallback.value", "“value” is missing"),
        ({"fallback": 3}, "fallback", "must be an object"),
        ({"forEach": {"items": {}}}, "forEach.items", "Say where the value comes from"),
        (
            {"forEach": {"items": {"source": "previousStep", "step": "a", "k": 1}}},
            "forEach.items.k",
            "Known: source, step, path",
        ),
        (
            {"forEach": {"items": {"source": "item"}, "parallel": 9}},
            "forEach.parallel",
            "at most 8",
        ),
        (
            {"forEach": {"items": {"source": "item"}, "most": 9}},
            "forEach.most",
            "Known: items, parallel, maxItems",
        ),
        (
            {"parallel": {"group": "g"}},
            "parallel.branch",
            "“branch” is missing",
        ),
        ({"retry": {"attempts": 1, "backoffFactor": 11}}, "retry.backoffFactor", "at most 10"),
        ({"stepNumber": True}, "stepNumber", "whole number"),
        ({"stepNumber": 2}, "stepNumber", "step 1 in the list, but its number is 2"),
        ({"toolToRunId": ""}, "toolToRunId", "must not be empty"),
        ({"toolToRunId": 5}, "toolToRunId", "must be text"),
        ({"toolVersion": 0}, "toolVersion", "at least 1"),
        ({"timeoutSeconds": 301}, "timeoutSeconds", "at most 300"),
        ({"timeoutSeconds": 0}, "timeoutSeconds", "at least 1"),
        ({"storeOutputAs": "1st"}, "storeOutputAs", "letters, digits and underscores"),
        ({"continueOnFailure": "yes"}, "continueOnFailure", "true or false"),
        ({"inputMapping": []}, "inputMapping", "must be an object"),
        ({"retry": {"attempts": 0}}, "retry.attempts", "at least 1"),
        ({"retry": {}}, "retry.attempts", "“attempts” is missing"),
        ({"retry": {"attempts": 1, "x": 1}}, "retry.x", "Known: attempts, backoffSeconds"),
        ({"retry": {"attempts": 1, "backoffSeconds": "2"}}, "retry.backoffSeconds", "a number"),
        ({"inputMapping": {"a": {"source": "web"}}}, "inputMapping.a", "is not known. Use initial"),
        ({"inputMapping": {"a": {}}}, "inputMapping.a", "Say where the value comes from"),
        ({"inputMapping": {"a": 3}}, "inputMapping.a", "must be an object"),
        ({"inputMapping": {"a": {"source": "static"}}}, "inputMapping.a.value", "missing"),
        (
            {"inputMapping": {"a": {"source": "previousStep", "step": "b", "k": 1}}},
            "inputMapping.a.k",
            "Known: source, step, path",
        ),
    ],
)
def test_a_wrong_field_is_told_with_its_step_and_place(step, field, said):
    (problem,) = problems_of(changed(**step))
    assert problem.step == 1
    assert problem.field == field
    assert problem.path == f"$.steps[0].{field}"
    assert said in problem.message


def test_every_problem_is_told_at_once():
    data = changed(timeoutSeconds=0, storeOutputAs="1st", when=1)
    data["steps"][1]["stepNumber"] = 7
    data["finalOutputMapping"] = {}
    fields = [(problem.step, problem.field) for problem in problems_of(data)]
    assert set(fields) == {
        (1, "timeoutSeconds"),
        (1, "storeOutputAs"),
        (1, "when"),
        (2, "stepNumber"),
        (None, "finalOutputMapping"),
    }


def test_two_steps_cannot_store_under_one_name():
    data = changed()
    data["steps"][1]["storeOutputAs"] = "counted"
    (problem,) = problems_of(data)
    assert problem.step == 2
    assert "Step 1 already stores its output as “counted”" in problem.message


@pytest.mark.parametrize("data", [None, [], "text", 3])
def test_what_is_no_object_is_refused(data):
    assert "must be an object" in messages_of(data)


@pytest.mark.parametrize("steps", [[], [VALID["steps"][0]] * 101])
def test_a_sequence_has_one_to_a_hundred_steps(steps):
    assert "at least 1 and at most 100" in messages_of({"format": 1, "steps": steps})


def test_steps_that_are_no_list_or_no_objects_are_told():
    assert "must be a list" in messages_of({"format": 1, "steps": "x"})
    assert "must be an object" in messages_of({"format": 1, "steps": [1]})


def test_missing_and_unknown_keys_at_the_top_are_told():
    assert "“format” is missing" in messages_of({"steps": VALID["steps"]})
    assert "Known: format, steps, maxConcurrentRuns, finalOutputMapping" in messages_of(
        {**VALID, "extra": 1}
    )
    assert "must be 1" in messages_of({**VALID, "format": 2})


def test_a_problem_in_the_final_output_has_no_step():
    data = {**VALID, "finalOutputMapping": {"a b": {"source": "previousStep", "step": ""}}}
    (problem,) = problems_of(data)
    assert problem.step is None
    assert problem.path == "$.finalOutputMapping['a b'].step"


def test_a_number_beyond_all_bounds_is_told():
    assert "This must be" in messages_of(changed(retry={"attempts": 1, "backoffSeconds": 10**400}))


@pytest.mark.parametrize(
    "value", ["nul\0", "\ud800", float("nan"), float("inf"), {"bad\0": 1}, {1: 2}]
)
def test_what_the_database_cannot_hold_is_refused(value):
    (problem,) = problems_of(changed(inputMapping={"a": {"source": "static", "value": [value]}}))
    assert problem.step == 1


def test_deep_nesting_is_refused():
    value: Any = 1
    for _ in range(200):
        value = [value]
    data = changed(inputMapping={"a": {"source": "static", "value": value}})
    assert "nested more than" in messages_of(data)


def test_the_error_names_the_steps_and_lists_at_most_ten():
    error = DefinitionInvalid([problem_at(("steps", n, "x"), f"No {n}.") for n in range(20)])
    assert "step 10: No 9." in error.message
    assert "No 10." not in error.message
    assert len(error.extra["problems"]) == 20
