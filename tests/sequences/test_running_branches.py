"""Steps that are done at the same time."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from config.lib.types import JsonObject
from sequences.running import playing
from sequences.running.journey import Journey
from tests import factories
from tests.sequences import workshop
from tests.sequences.workshop import fixed, ran, statuses, step

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice() -> User:
    return factories.make_user("alice")


def beside(tool: Any, branch: str, **fields: Any) -> JsonObject:
    return step(tool, parallel={"group": "g", "branch": branch}, **fields)


def test_branches_are_done_at_the_same_time_and_the_step_behind_sees_all(alice: User) -> None:
    workshop.meeting.reset()
    meet = workshop.make("meet")
    behind = {"t": {"source": "template", "value": "{{ steps.a }} and {{ steps.b }}"}}
    run = ran(
        alice,
        beside(meet, "one", inputMapping=fixed(n=1), storeOutputAs="a"),
        beside(meet, "two", inputMapping=fixed(n=2), storeOutputAs="b"),
        step(workshop.make("echo"), inputMapping=behind),
    )
    assert run.status == "succeeded"
    assert run.steps.get(number=3).output == {"t": "1 and 2"}


def test_steps_of_a_branch_follow_one_another_and_see_what_came_before(alice: User) -> None:
    echo = workshop.make("echo")
    read = {"t": {"source": "previousStep", "step": "a"}}
    run = ran(
        alice,
        beside(echo, "one", inputMapping=fixed(n=1), storeOutputAs="a"),
        beside(echo, "two", inputMapping=fixed(n=2)),
        beside(echo, "one", inputMapping=read),
    )
    assert run.steps.get(number=3).output == {"t": {"n": 1}}


def test_a_branch_does_not_see_what_is_done_beside_it(alice: User) -> None:
    echo = workshop.make("echo")
    read = {"t": {"source": "previousStep", "step": "a"}}
    run = ran(
        alice,
        beside(echo, "one", inputMapping=fixed(n=1), storeOutputAs="a"),
        beside(echo, "two", inputMapping=read),
    )
    assert (run.status, run.error["code"]) == ("failed", "mapping_failed")


def test_when_a_branch_fails_the_others_end_with_the_step_in_flight(alice: User) -> None:
    workshop.meeting.reset()
    meet, echo = workshop.make("meet"), workshop.make("echo")
    run = ran(
        alice,
        beside(meet, "one"),
        beside(workshop.make("fail"), "one"),
        beside(meet, "two"),
        beside(workshop.make("until_cancelled"), "two", timeoutSeconds=3),
        beside(echo, "two"),
        step(echo),
    )
    assert run.error["message"] == "Step 2 (fail) failed: It is broken."
    told = statuses(run)
    assert (told[1], told[2], told[3]) == ("succeeded", "failed", "succeeded")
    assert not {5, 6} & set(told)
    assert "running" not in told.values()


def test_a_failure_ends_the_run_although_another_branch_had_more_to_do(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Journey] = []

    def begin(*parts: Any) -> Journey:
        begun.append(Journey(*parts))
        return begun[0]

    def until_halted(*_: object) -> str:
        assert begun[0].halted.wait(30)
        return "done"

    monkeypatch.setattr(playing, "Journey", begin)
    monkeypatch.setattr(workshop.WorkshopExecutor, "until_halted", until_halted, raising=False)
    run = ran(
        alice,
        beside(workshop.make("fail"), "one"),
        beside(workshop.make("until_halted"), "two"),
        beside(workshop.make("echo"), "two"),
    )
    assert (run.status, statuses(run)) == ("failed", {1: "failed", 2: "succeeded"})
    assert run.error["message"] == "Step 1 (fail) failed: It is broken."


def test_a_branch_that_may_fail_stops_nobody(alice: User) -> None:
    run = ran(
        alice,
        beside(workshop.make("fail"), "one", continueOnFailure=True),
        beside(workshop.make("echo"), "two"),
    )
    assert statuses(run) == {1: "failed", 2: "succeeded"}
    assert run.status == "succeeded"


def test_a_cancel_ends_all_branches(alice: User) -> None:
    run = ran(
        alice,
        beside(workshop.make("cancel_together"), "one"),
        beside(workshop.make("until_cancelled"), "two"),
        beside(workshop.make("echo"), "two"),
    )
    assert run.status == "cancelled"
    assert statuses(run) == {1: "failed", 2: "failed"}


def test_calls_of_all_branches_are_recorded(alice: User) -> None:
    from registry.models import Invocation

    echo = workshop.make("echo")
    run = ran(alice, *(beside(echo, name) for name in ("one", "two", "three")))
    assert Invocation.objects.filter(run_id=run.pk).count() == 3
