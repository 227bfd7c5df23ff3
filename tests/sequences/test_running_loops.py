"""Steps that are done once for each item of a list."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from config.lib.types import JsonObject
from sequences.models import Run
from tests import factories
from tests.sequences import workshop
from tests.sequences.workshop import ran, statuses, step

NUMBERS: JsonObject = {"items": {"source": "initialInput", "key": "numbers"}}
N: JsonObject = {"n": {"source": "item"}}


def doubled(alice: User, *numbers: Any, final: Any = None, **fields: Any) -> Run:
    """Run a loop over numbers that fails for those below zero."""
    loop = {**NUMBERS, **fields.pop("loop", {})}
    doubling = step(workshop.make("double"), forEach=loop, inputMapping=N, **fields)
    return ran(alice, doubling, final=final, input={"numbers": list(numbers)})


def test_a_loop_calls_the_tool_for_each_item_and_keeps_their_order(alice: User) -> None:
    run = doubled(alice, 3, 1, 2)
    row = run.steps.get(iteration=None)
    assert (row.status, row.output) == ("succeeded", [6, 2, 4])
    assert row.input == {"items": [3, 1, 2]}
    assert statuses(run) == {1: "succeeded", **{(1, index): "succeeded" for index in range(3)}}
    assert [each.input for each in run.steps.exclude(iteration=None).order_by("iteration")] == [
        {"n": 3},
        {"n": 1},
        {"n": 2},
    ]


def test_a_step_may_use_the_item_and_its_index_in_texts_and_conditions(alice: User) -> None:
    run = ran(
        alice,
        step(
            workshop.make("echo"),
            forEach=NUMBERS,
            inputMapping={"t": {"source": "template", "value": "{{ index }}: {{ item.name }}"}},
            when="item.wanted",
        ),
        input={"numbers": [{"name": "a", "wanted": True}, {"name": "b", "wanted": False}]},
    )
    assert run.steps.get(iteration=None).output == [{"t": "0: a"}, None]
    assert statuses(run)[1, 1] == "skipped"


def test_a_loop_tells_how_its_items_went_and_each_item_its_own_message(alice: User) -> None:
    run = doubled(alice, 1, -2, 3, continueOnFailure=True, outputDisplaySuccess="Got {{ result }}")
    messages = list(run.steps.order_by("iteration").values_list("iteration", "message"))
    assert messages[0] == (0, "Got 2")
    assert messages[-1] == (None, "3 items, 1 failed.")


def test_a_loop_tells_how_often_its_fallback_was_used(alice: User) -> None:
    row = doubled(alice, -1, fallback={"value": 0}).steps.get(iteration=None)
    assert row.message == "1 item, 1 with the fallback."


def test_a_condition_without_the_item_decides_for_the_whole_loop(alice: User) -> None:
    run = doubled(alice, 1, 2, when="size(initial.numbers) > 2")
    assert statuses(run) == {1: "skipped"}


def test_an_empty_list_gives_an_empty_list(alice: User) -> None:
    assert doubled(alice).steps.get().output == []


def test_an_iteration_that_fails_ends_the_loop_and_is_named(alice: User) -> None:
    run = doubled(alice, 1, -1, 2)
    assert run.error["message"] == "Step 1 (double) failed: Item 2 of 3: -1 is less than nothing."
    assert (run.error["code"], run.error["extra"]["iteration"]) == ("tool_failed", 1)
    assert statuses(run) == {1: "failed", (1, 0): "succeeded", (1, 1): "failed"}


def test_a_loop_that_may_fail_puts_null_where_an_iteration_failed(alice: User) -> None:
    run = doubled(alice, 1, -1, 2, continueOnFailure=True)
    assert (run.status, run.steps.get(iteration=None).output) == ("succeeded", [2, None, 4])
    assert statuses(run)[1, 1] == "failed"


def test_a_fallback_stands_in_for_the_iteration_that_failed(alice: User) -> None:
    run = doubled(alice, 1, -1, 2, fallback={"value": 0})
    assert run.steps.get(iteration=None).output == [2, 0, 4]
    assert statuses(run)[1, 1] == "fell_back"


def test_each_iteration_is_tried_again_by_itself(alice: User) -> None:
    run = ran(
        alice,
        step(
            workshop.make("third_time"),
            forEach=NUMBERS,
            retry={"attempts": 3, "backoffSeconds": 0},
        ),
        input={"numbers": [1, 2]},
    )
    attempts = run.steps.exclude(iteration=None).order_by("iteration")
    assert list(attempts.values_list("attempts", flat=True)) == [3, 1]


def test_more_items_than_allowed_fail_the_step_before_any_call(alice: User) -> None:
    run = doubled(alice, 1, 2, 3, loop={"maxItems": 2}, fallback={"value": 0})
    assert (run.error["code"], workshop.calls) == ("loop_failed", [])
    assert "The list has 3 items; this loop takes at most 2." in run.error["message"]


def test_a_loop_over_something_else_than_a_list_is_told(alice: User) -> None:
    items = {"source": "static", "value": {"a": 1}}
    run = ran(alice, step(workshop.make("echo"), forEach={"items": items}))
    assert "The loop needs a list, but got an object." in run.error["message"]


def test_outputs_that_are_too_large_together_fail_the_step(alice: User) -> None:
    large = step(workshop.make("large"), forEach=NUMBERS, inputMapping={"size": {"source": "item"}})
    run = ran(alice, large, input={"numbers": [600_000, 600_000]})
    assert run.error["code"] == "output_rejected"
    assert "The outputs of the loop have 1,200," in run.error["message"]


@pytest.mark.django_db(transaction=True)
def test_iterations_are_done_at_the_same_time() -> None:
    workshop.meeting.reset()
    alice = factories.make_user("alice")
    loop = {**NUMBERS, "parallel": 2}
    meeting = step(workshop.make("meet"), forEach=loop, inputMapping=N)
    run = ran(alice, meeting, input={"numbers": [1, 2, 3, 4]})
    assert (run.status, run.output[0]["output"]) == ("succeeded", [1, 2, 3, 4])


@pytest.mark.django_db(transaction=True)
def test_a_failed_iteration_lets_those_in_flight_end_and_begins_no_other() -> None:
    alice = factories.make_user("alice")
    others = range(1, 1_000)  # far more than are done beside the one that fails, however slow it is
    run = doubled(alice, -1, *others, loop={"parallel": 2, "maxItems": 1_000})
    assert run.error["message"].startswith("Step 1 (double) failed: Item 1 of 1000:")
    assert run.steps.filter(status="running").count() == 0
    assert run.steps.count() < 1_000


@pytest.mark.django_db(transaction=True)
def test_a_cancel_ends_a_loop_and_its_iterations() -> None:
    alice = factories.make_user("alice")
    loop = {**NUMBERS, "parallel": 2}
    cancelling = step(workshop.make("cancel_together"), forEach=loop, fallback={"value": 1})
    run = ran(alice, cancelling, input={"numbers": [1, 2, 3]})
    assert run.status == "cancelled"
    assert statuses(run) == {1: "failed", (1, 0): "failed", (1, 1): "failed"}
