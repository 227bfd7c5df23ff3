"""What changed of the rest of a tool: its request, its steps, its package, its words."""

from typing import Any

import pytest

from registry.differences import differences, summary_of
from registry.differences.words import word_runs


def said(before: Any, after: Any, **options: Any) -> list[tuple[str, str, str]]:
    told = differences(before, after, **options)
    return [(item.path, item.effect.value, item.sentence) for item in told]


def step(tool: str, name: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"toolToRunId": tool, "storeOutputAs": name, "inputMapping": {}, **fields}


def sequence(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    numbered = [{**item, "stepNumber": number} for number, item in enumerate(steps, 1)]
    return {"definition": {"format": 1, "steps": numbered, **fields}}


def test_a_step_that_is_put_in_front_moves_none_of_the_others() -> None:
    before = sequence(step("t1", "a"), step("t2", "b"))
    after = sequence(step("t3", "c"), step("t1", "a"), step("t2", "b"))

    assert said(before, after, names={"t3": "calculator"}) == [
        ("$.steps[0]", "compatible", "Step 1 (calculator) is new.")
    ]


def test_a_step_that_changes_places_is_told_once() -> None:
    before = sequence(step("t1", "a"), step("t2", "b"), step("t3", "c"))
    after = sequence(step("t3", "c"), step("t1", "a"), step("t2", "b"))

    assert said(before, after) == [("$.steps[0]", "compatible", "Step 1 (t3) was step 3.")]


def test_what_a_step_is_given_is_told_by_where_it_comes_from() -> None:
    old = {"q": {"source": "initialInput", "key": "text"}}
    new = {"q": {"source": "previousStep", "step": "a", "path": "items[0]"}}
    before = sequence(step("t1", "a"), step("t2", "b", inputMapping=old))
    after = sequence(step("t1", "a"), step("t2", "b", inputMapping=new, toolVersion=2))

    assert said(before, after) == [
        (
            "$.steps[1].inputMapping.q",
            "compatible",
            "Step 2: the input “q” is “items[0]” of the output of “a”; "
            "it was “text” of the sequence's input.",
        ),
        ("$.steps[1].toolVersion", "compatible", "Step 2 uses version 2."),
    ]


def test_a_step_keeps_its_place_when_it_calls_another_tool() -> None:
    before, after = sequence(step("t1", "a")), sequence(step("t2", "a"))

    assert said(before, after, names={"t1": "one", "t2": "two"}) == [
        ("$.steps[0].toolToRunId", "compatible", "Step 1 calls two; it called one.")
    ]


def test_an_output_that_is_given_no_more_breaks_those_who_read_it() -> None:
    source = {"source": "previousStep", "step": "a"}
    before = sequence(step("t1", "a"), finalOutputMapping={"x": source, "y": source})
    after = sequence(step("t1", "a"), finalOutputMapping={"x": source})

    assert said(before, after) == [
        ("$.finalOutputMapping.y", "breaking", "The output “y” is not given any more.")
    ]


def test_the_parts_of_a_request_are_told_one_by_one() -> None:
    before = {
        "definition": {
            "method": "GET",
            "url": "https://a.example/x",
            "headers": {"Accept": "text/plain"},
            "auth": None,
            "response": {"path": ""},
        }
    }
    after = {
        "definition": {
            "method": "POST",
            "url": "https://b.example/x",
            "headers": {"Accept": "application/json"},
            "auth": {"type": "bearer", "env": "B_KEY"},
            "response": {"path": "data"},
        }
    }

    assert said(before, after) == [
        ("$.auth", "breaking", "The sign-in of the request is new. It reads B_KEY."),
        (
            "$.response.path",
            "breaking",
            "The answer is the part “data” of what comes back.",
        ),
        ("$.method", "compatible", "The request's method is “POST”; it was “GET”."),
        (
            "$.url",
            "compatible",
            "The address that it calls is “https://b.example/x”; it was “https://a.example/x”.",
        ),
        (
            "$.headers.Accept",
            "compatible",
            "“headers.Accept” is “application/json” now; it was “text/plain”.",
        ),
    ]


def test_a_variable_that_has_to_be_set_breaks_callers() -> None:
    def package(**fields: Any) -> dict[str, Any]:
        return {"package": {"ecosystem": "npm", "name": "p", "version": "1.0.0", **fields}}

    before = package(env=[{"name": "OLD"}, {"name": "MAY", "required": False}])
    after = package(env=[{"name": "MAY", "required": True}, {"name": "NEW"}], version="2.0.0")

    assert said(before, after) == [
        ("$.env.MAY", "breaking", "The variable MAY has to be set now."),
        ("$.env.NEW", "breaking", "The variable NEW is read now and has to be set."),
        ("$.version", "compatible", "The package's version is “2.0.0”; it was “1.0.0”."),
        ("$.env.OLD", "compatible", "The variable OLD is not read any more."),
    ]


def test_a_new_scope_is_breaking_and_other_words_are_not() -> None:
    before = {"required_scopes": [], "title": "One", "ai_agent": {"useCase": "x"}}
    after = {"required_scopes": ["crm:read"], "title": "Two", "ai_agent": {}}
    told = differences(before, after)

    assert [(item.path, item.effect.value) for item in told] == [
        ("$.required_scopes", "breaking"),
        ("$.title", "text"),
        ("$.ai_agent.useCase", "text"),
    ]
    assert summary_of(told).sentence == "1 breaking change, 2 changes of text"


def test_what_is_new_breaks_nobody_and_what_is_gone_does() -> None:
    snapshot = {
        "title": "T",
        "input_schema": {
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "required": ["a"],
        },
        "required_scopes": ["x"],
    }

    assert {item.kind.value for item in differences(None, snapshot)} == {"added"}
    assert not any(item.is_breaking for item in differences(None, snapshot))
    assert [item.sentence for item in differences(snapshot, None)] == ["The tool is taken out."]
    assert differences(snapshot, snapshot) == []
    assert differences(None, None) == []


def test_long_values_are_told_in_short() -> None:
    before = {"input_schema": {"type": "object", "properties": {}}}
    after = {
        "input_schema": {
            "type": "object",
            "properties": {"a": {"type": "string", "enum": ["x" * 90] * 90}},
        }
    }
    (told,) = differences(before, after)

    assert told.after["truncated"] is True
    assert len(told.sentence) < 200


def test_the_words_of_a_text_are_marked_in_whole_pieces() -> None:
    runs = word_runs("Reads a page. Use it for plans of a week.", "Reads a page. Not for the sea.")

    assert [tuple(run) for run in runs] == [
        ("same", "Reads a page. "),
        ("deleted", "Use it for plans of a week"),
        ("inserted", "Not for the sea"),
        ("same", "."),
    ]
    assert word_runs("", "New.") == [("inserted", "New.")]
    assert word_runs("a " * 5_000, "b")[0].kind == "deleted"


def test_a_step_is_known_by_its_key_wherever_it_moves_and_whatever_it_calls() -> None:
    before = sequence(step("t1", key="a"), step("t2", key="b"))
    after = sequence(step("t2", key="b"), step("t9", key="a"))

    assert said(before, after) == [
        ("$.steps[0]", "compatible", "Step 1 (t2) was step 2."),
        ("$.steps[1].toolToRunId", "compatible", "Step 2 calls t9; it called t1."),
    ]


def test_a_step_with_another_key_is_another_step_even_of_the_same_tool() -> None:
    before, after = sequence(step("t1", key="a")), sequence(step("t1", key="b"))

    assert [sentence for _, _, sentence in said(before, after)] == [
        "Step 1 (t1) is taken out.",
        "Step 1 (t1) is new.",
    ]


def test_keys_that_came_with_an_edit_make_no_step_another() -> None:
    assert said(sequence(step("t1", "a")), sequence(step("t1", "a", key="k"))) == []


ITEM = {"source": "item", "path": "id"}
EXPRESSION = {"source": "expression", "value": "steps.a[0]"}


@pytest.mark.parametrize(
    ("old", "new", "path", "sentence"),
    [
        ({}, {"when": "a > 1"}, "when", "Step 1 runs only if “a > 1”."),
        ({"when": "a"}, {"when": None}, "when", "Step 1 runs in any case."),
        (
            {},
            {"forEach": {"items": EXPRESSION, "parallel": 2, "maxItems": 9}},
            "forEach",
            "Step 1 is repeated for each item of the expression “steps.a[0]”, 2 at a time, "
            "at most 9.",
        ),
        (
            {"forEach": {"items": EXPRESSION}},
            {"forEach": {"items": {**ITEM, "path": ""}, "parallel": 1}},
            "forEach",
            "Step 1 is repeated for each item of the item of its loop, one after the other, "
            "at most 100.",
        ),
        ({"forEach": {"items": ITEM}}, {}, "forEach", "Step 1 is not repeated any more."),
        (
            {},
            {"parallel": {"group": "g", "branch": "b"}},
            "parallel",
            "Step 1 stands in branch “b” of “g”.",
        ),
        (
            {"parallel": {"group": "g", "branch": "b"}},
            {},
            "parallel",
            "Step 1 stands in no branch any more.",
        ),
        ({}, {"disabled": True}, "disabled", "Step 1 is switched off."),
        ({"disabled": True}, {}, "disabled", "Step 1 is switched on."),
        ({}, {"repeatable": True}, "repeatable", "Step 1 may be called twice, says its author."),
        (
            {"repeatable": True},
            {},
            "repeatable",
            "Step 1 is not said to be callable twice any more.",
        ),
        ({}, {"fallback": {"value": 3}}, "fallback", "Step 1 gives 3 where it fails."),
        ({"fallback": {"value": 3}}, {}, "fallback", "Step 1 gives nothing where it fails."),
        ({}, {"title": "Count"}, "title", "Step 1 has another title."),
        (
            {"retry": {"attempts": 2, "backoffSeconds": 1}},
            {"retry": {"attempts": 3, "backoffSeconds": 2, "backoffFactor": 2.0}},
            "retry",
            "Step 1 tries 3 times, 2 s apart, each pause 2 times the one before.",
        ),
        ({"retry": {"attempts": 2}}, {"retry": None}, "retry", "Step 1 tries again: no."),
    ],
)
def test_what_a_step_does_otherwise_is_told(old: Any, new: Any, path: str, sentence: str) -> None:
    ((where, _, told),) = said(sequence(step("t", **old)), sequence(step("t", **new)))
    assert (where, told) == (f"$.steps[0].{path}", sentence)


def test_fields_that_say_nothing_are_no_difference() -> None:
    empty = {"when": None, "forEach": None, "disabled": False, "title": ""}
    assert said(sequence(step("t")), sequence(step("t", **empty))) == []


def test_where_values_of_a_loop_come_from_is_told() -> None:
    before = sequence(step("t", inputMapping={"x": EXPRESSION}))
    after = sequence(step("t", inputMapping={"x": ITEM}))
    assert said(before, after)[0][2] == (
        "Step 1: the input “x” is “id” of the item of its loop; it was the expression “steps.a[0]”."
    )


def test_what_a_question_asks_otherwise_is_told() -> None:
    def asks(**fields: Any) -> dict[str, Any]:
        return {"storeOutputAs": "a", "approval": {"title": "Go?", **fields}}

    otherwise = asks(message="Go on?", onRejected="continue")
    assert [item[::2] for item in said(sequence(asks()), sequence(otherwise))] == [
        ("$.steps[0].approval.onRejected", "Step 1 goes another way when it is refused."),
        ("$.steps[0].approval.message", "Step 1 asks in other words."),
    ]
    first = step("t1", "a")
    ((_, _, told),) = said(sequence(first), sequence(asks()))
    assert told == "Step 1 asks a person; it called t1."
    ((_, _, told),) = said(sequence(first, {**asks(), "storeOutputAs": "b"}), sequence(first))
    assert told == "Step 2 (a question to a person) is taken out."


def test_how_many_runs_work_at_a_time_is_told() -> None:
    one, any_ = sequence(step("t"), maxConcurrentRuns=1), sequence(step("t"))
    assert said(any_, one)[0][2] == "At most 1 run may be at work at the same time."
    assert said(one, any_)[0][2] == "Any number of runs may be at work at the same time."
