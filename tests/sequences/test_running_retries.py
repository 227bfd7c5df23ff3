"""Runs that are tried again: what is taken over, and what is done again."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from config.lib.errors import InvalidInput
from config.lib.types import JsonObject
from registry.context import CallContext
from registry.models import Tool
from registry.models.invocation import Caller
from registry.services import tool_publish
from sequences.models import Run
from sequences.requests import request_answer
from sequences.runs import run_retry
from tests import factories
from tests.sequences import workshop
from tests.sequences.workshop import fixed, go_on, ran, statuses, step


def again(run: Run, **fields: Any) -> Run:
    """Try a run again and return the new run, played."""
    workshop.calls.clear()
    context = CallContext(user=run.user, caller=Caller.BROWSER)
    return go_on(run_retry(run, context=context, **fields))


def publish(sequence: Tool | None, *steps: JsonObject) -> None:
    """Publish a version of a sequence with these steps."""
    assert sequence is not None
    numbered = [{**item, "stepNumber": place} for place, item in enumerate(steps, 1)]
    sequence.definition = {"format": 1, "steps": numbered}
    tool_publish(sequence, author=None)


def beside(tool: Tool, branch: str, **fields: Any) -> JsonObject:
    return step(tool, parallel={"group": "g", "branch": branch}, **fields)


def test_skipped_steps_and_fallbacks_are_taken_over_as_they_are(alice: User) -> None:
    echo, fail = workshop.make("echo"), workshop.make("fail")
    run = ran(
        alice,
        step(echo, disabled=True),
        step(fail, fallback={"value": 1}),
        step(fail, continueOnFailure=True),
        step(fail),
    )
    new = again(run, from_step=4)
    assert statuses(new) == {1: "skipped", 2: "fell_back", 3: "failed", 4: "failed"}
    assert [name for name, *_ in workshop.calls] == ["fail"]


def test_a_skipped_step_may_be_where_a_run_is_tried_again(alice: User) -> None:
    echo = workshop.make("echo")
    skipped = step(echo, when="initial.n > 1")
    run = ran(alice, step(echo), skipped, input={"n": 0})
    publish(run.tool, step(echo), step(echo, when="initial.n < 1"))
    new = again(run, from_step=2, version="current")
    assert statuses(new) == {1: "reused", 2: "succeeded"}


def test_items_of_a_loop_that_went_well_are_not_done_again(alice: User) -> None:
    loop = {"items": {"source": "initialInput", "key": "numbers"}}
    doubling = step(workshop.make("double"), forEach=loop, inputMapping={"n": {"source": "item"}})
    run = ran(alice, doubling, input={"numbers": [1, -1, 2]})
    new = again(run, from_step=1)
    assert statuses(new) == {1: "failed", (1, 0): "reused", (1, 1): "failed"}
    assert [arguments["n"] for _, arguments, _ in workshop.calls] == [-1]


def test_a_loop_that_went_well_is_done_again_as_a_whole(alice: User) -> None:
    loop = {"items": {"source": "static", "value": [1, 2]}}
    run = ran(alice, step(workshop.make("echo"), forEach=loop))
    assert statuses(again(run)) == {1: "succeeded", (1, 0): "succeeded", (1, 1): "succeeded"}


def test_a_loop_before_the_step_is_taken_over_with_its_items(alice: User) -> None:
    loop = {"items": {"source": "static", "value": [1]}}
    echo = workshop.make("echo")
    run = ran(alice, step(echo, forEach=loop), step(workshop.make("fail")))
    assert statuses(again(run, from_step=2)) == {1: "reused", (1, 0): "reused", 2: "failed"}


@pytest.mark.django_db(transaction=True)
def test_branches_beside_the_step_are_taken_over() -> None:
    alice = factories.make_user("alice")
    workshop.meeting.reset()
    meet, echo = workshop.make("meet"), workshop.make("echo")
    run = ran(
        alice,
        beside(meet, "one", inputMapping=fixed(n=1)),
        beside(workshop.make("fail"), "one"),
        beside(meet, "two", inputMapping=fixed(n=2)),
        step(echo),
    )
    new = again(run, from_step=2)
    assert statuses(new) == {1: "reused", 2: "failed", 3: "reused"}
    assert [name for name, *_ in workshop.calls] == ["fail"]


def test_a_step_that_was_moved_is_known_by_its_key(alice: User) -> None:
    echo = workshop.make("echo")
    one, two = step(echo, key="one"), step(echo, key="two", inputMapping=fixed(n=2))
    run = ran(alice, one, two, step(workshop.make("fail"), key="three"))
    publish(run.tool, two, one, step(echo, key="three"))
    new = again(run, from_step=3, version="current")
    assert statuses(new) == {1: "reused", 2: "reused", 3: "succeeded"}
    assert new.steps.get(number=1).output == {"n": 2}


def test_a_new_title_does_not_matter_but_a_new_input_does(alice: User) -> None:
    echo, last = workshop.make("echo"), step(workshop.make("fail"), key="last")
    run = ran(alice, step(echo, key="one", title="Old"), last)
    publish(run.tool, step(echo, key="one", title="New"), last)
    assert again(run, from_step=2, version="current").steps.get(number=1).title == "New"
    publish(run.tool, step(echo, key="one", inputMapping=fixed(n=1)), last)
    with pytest.raises(InvalidInput, match="Step 1 is not what it was in this run"):
        again(run, from_step=2, version="current")


def test_an_answer_of_a_person_is_taken_over(alice: User) -> None:
    run = ran(alice, {"approval": {}}, step(workshop.make("fail")))
    request_answer(run.requests.get(), user=alice, approved=True)
    new = again(go_on(run), from_step=2)
    assert (statuses(new), new.requests.count()) == ({1: "reused", 2: "failed"}, 0)
