"""Steps that are skipped, and steps whose failure is made good."""

import pytest
from django.contrib.auth.models import User

from sequences.conditions import ConditionFailed, holds
from tests.sequences import workshop
from tests.sequences.workshop import fixed, ran, statuses, step


def test_a_step_whose_condition_does_not_hold_is_skipped_and_says_why(alice: User) -> None:
    echo = workshop.make("echo")
    run = ran(alice, step(echo, when="initial.n > 3"), step(echo), input={"n": 2})
    row = run.steps.get(number=1)
    assert (run.status, statuses(run)) == ("succeeded", {1: "skipped", 2: "succeeded"})
    assert row.message == "Skipped, because this does not hold: initial.n > 3"
    assert (row.output, row.tool_name) == (None, "echo")
    assert len(workshop.calls) == 1


def test_a_condition_may_ask_whether_an_earlier_step_left_something(alice: User) -> None:
    echo = workshop.make("echo")
    run = ran(
        alice,
        step(echo, when="false", storeOutputAs="first"),
        step(echo, when="has(steps.first)", storeOutputAs="second"),
        step(echo, when="!has(steps.second)"),
    )
    assert statuses(run) == {1: "skipped", 2: "skipped", 3: "succeeded"}


def test_a_condition_that_cannot_be_worked_out_fails_the_step(alice: User) -> None:
    run = ran(alice, step(workshop.make("echo"), when="initial.missing > 3"))
    assert (run.status, run.error["code"]) == ("failed", "condition_failed")
    assert workshop.calls == []


def test_what_a_condition_misses_is_named_with_the_way_to_ask_for_it() -> None:
    with pytest.raises(ConditionFailed, match=r"reads “initial\.tone”, which is not") as told:
        holds('initial.n == 1 && initial.tone == "formal"', {"initial": {"n": 1}})
    assert told.value.hint == "Where it may be left out, ask for it first: has(initial.tone) && …"
    assert holds('has(initial.tone) && initial.tone == "x"', {"initial": {}}) is False


def test_a_disabled_step_is_skipped(alice: User) -> None:
    echo = workshop.make("echo")
    run = ran(alice, step(echo, disabled=True, when="nonsense("), step(echo))
    assert run.steps.get(number=1).message == "It is disabled."
    assert statuses(run) == {1: "skipped", 2: "succeeded"}


def test_the_output_of_a_skipped_step_is_told_to_be_missing(alice: User) -> None:
    skipped = step(workshop.make("echo"), disabled=True, storeOutputAs="first")
    final = {"x": {"source": "previousStep", "step": "first"}}
    run = ran(alice, skipped, final=final)
    assert (run.status, run.error["code"]) == ("failed", "mapping_failed")
    assert "needs the output of step “first”, which left none" in run.error["message"]


def test_a_fallback_stands_in_for_the_output_of_a_step_that_failed(alice: User) -> None:
    final = {"x": {"source": "previousStep", "step": "first", "path": "n"}}
    failing = step(workshop.make("fail"), fallback={"value": {"n": 7}}, storeOutputAs="first")
    run = ran(alice, failing, final=final)
    row = run.steps.get()
    assert (run.status, run.output) == ("succeeded", {"x": 7})
    assert (row.status, row.error["code"], row.output) == ("fell_back", "tool_failed", {"n": 7})


def test_the_log_tells_of_a_fallback_and_of_the_error(alice: User) -> None:
    run = ran(alice, step(workshop.make("fail"), fallback={"value": None}))
    (entry,) = run.output
    assert (entry["status"], entry["output"]) == ("fell_back", None)
    assert entry["error"]["message"] == "It is broken."


def test_a_fallback_comes_after_all_attempts(alice: User) -> None:
    retry = {"attempts": 2, "backoffSeconds": 0}
    run = ran(alice, step(workshop.make("third_time"), retry=retry, fallback={"value": 0}))
    row = run.steps.get()
    assert (row.status, row.attempts, row.output) == ("fell_back", 2, 0)


def test_an_expression_hands_a_value_of_any_type_over(alice: User) -> None:
    mapping = {"n": {"source": "expression", "value": "length(initial.names)"}}
    run = ran(alice, step(workshop.make("echo"), inputMapping=mapping), input={"names": ["a", "b"]})
    assert run.steps.get().output == {"n": 2}


def test_inputs_that_do_not_fit_the_tool_fail_the_step_at_run(alice: User) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    strict = workshop.make("echo", input_schema=schema)
    run = ran(alice, step(strict, inputMapping=fixed(n="many")))
    assert (run.error["code"], workshop.calls) == ("invalid_arguments", [])


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("steps.a.n == 1 && has(steps.b)", True),
        ("steps.exists(name, name == 'b')", True),
        ('steps["b"] == 2 && size(steps) == 2', True),
        ("has(steps.c)", False),
        ("initial.n == 3", True),
        ("true", True),
    ],
)
def test_a_condition_sees_all_that_it_reads(condition: str, expected: bool) -> None:
    known = {"initial": {"n": 3}, "steps": {"a": {"n": 1}, "b": 2}}
    assert holds(condition, known) is expected
