"""Runs that are taken up in the middle, from their rows alone."""

from datetime import timedelta
from threading import Event
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from sequences import reaper, running
from sequences.models import Run, RunStep
from sequences.running import branches
from sequences.states import run_claim
from sequences.watch import Watch
from tests.sequences import workshop
from tests.sequences.workshop import fixed, go_on, ran, run_of, sequence_of, statuses, step


class Died(BaseException):
    """The worker is gone, and nothing of it is left to write anything."""


def dying(monkeypatch: pytest.MonkeyPatch, run: Run, *, in_call: int) -> Run:
    """Play a run until its worker dies in some call; return it as the reaper leaves it."""
    real = workshop.WorkshopExecutor.execute

    def execute(*args: Any) -> Any:
        if len(workshop.calls) + 1 == in_call:
            raise Died
        return real(*args)

    with monkeypatch.context() as patch:
        patch.setattr(workshop.WorkshopExecutor, "execute", execute)
        with pytest.raises(Died):
            running.execute(run.pk)
    assert reaper.requeue_lost(timezone.now() + timedelta(minutes=1)) == 1
    return Run.objects.get(pk=run.pk)


def test_what_ended_before_the_worker_died_is_not_done_again(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    echo = workshop.make("echo")
    steps = [step(echo, repeatable=True, inputMapping=fixed(n=n)) for n in range(4)]
    run = run_of(sequence_of(alice, *steps), alice)
    run = dying(monkeypatch, run, in_call=3)
    assert statuses(run) == {1: "succeeded", 2: "succeeded", 3: "running"}
    run = go_on(run)
    assert run.status == "succeeded"
    assert [arguments["n"] for _, arguments, _ in workshop.calls] == [0, 1, 2, 3]
    assert list(run.steps.order_by("number").values_list("attempts", flat=True)) == [1, 1, 2, 1]


def test_a_loop_is_taken_up_at_the_item_it_had_reached(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = {"items": {"source": "static", "value": [0, 1, 2, 3]}}
    echo = step(
        workshop.make("echo"),
        forEach=loop,
        inputMapping={"n": {"source": "item"}},
        repeatable=True,
    )
    run = dying(monkeypatch, run_of(sequence_of(alice, echo), alice), in_call=3)
    assert statuses(run)[1, 2] == "running"
    run = go_on(run)
    assert run.steps.get(iteration=None).output == [{"n": n} for n in range(4)]
    assert [arguments["n"] for _, arguments, _ in workshop.calls] == [0, 1, 2, 3]


def test_an_item_in_doubt_lets_the_run_need_attention(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = {"items": {"source": "static", "value": [0, 1]}}
    echo = step(workshop.make("echo"), forEach=loop)
    run = dying(monkeypatch, run_of(sequence_of(alice, echo), alice), in_call=2)
    run = go_on(run)
    assert (run.status, statuses(run)[1, 1]) == ("attention", "in_doubt")
    assert len(workshop.calls) == 1


def test_a_sequence_inside_is_gone_on_with(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    echo = workshop.make("echo")
    inner = sequence_of(alice, *(step(echo, repeatable=True) for _ in range(3)), wire_name="inner")
    run = run_of(sequence_of(alice, step(inner), step(echo)), alice)
    run = dying(monkeypatch, run, in_call=2)
    run = go_on(run)
    assert (run.status, Run.objects.count()) == ("succeeded", 2)
    assert len(workshop.calls) == 4
    assert run.steps.get(number=1).attempts == 1


def test_a_step_that_failed_just_before_its_worker_died_still_fails_the_run(alice: User) -> None:
    run = run_of(sequence_of(alice, step(workshop.make("echo"))), alice)
    error = {"code": "tool_failed", "message": "It is broken.", "hint": "", "extra": {}}
    RunStep.objects.create(
        run=run,
        number=1,
        tool_name="echo",
        status="failed",
        error=error,
        started_at=timezone.now(),
    )
    run = go_on(run)
    assert (run.status, run.error["code"], workshop.calls) == ("failed", "tool_failed", [])


def test_a_worker_that_shuts_down_gives_the_run_back_at_the_next_step(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    echo = workshop.make("echo")
    with monkeypatch.context() as patch:
        patch.setattr(Watch, "is_handing_over", lambda _: bool(workshop.calls))
        run = ran(alice, step(echo), step(echo))
        assert (run.status, run.lease, statuses(run)) == ("queued", None, {1: "succeeded"})
    assert go_on(run).status == "succeeded"
    assert len(workshop.calls) == 2


def test_a_run_around_one_that_is_given_back_is_given_back_too(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    echo = workshop.make("echo")
    inner = sequence_of(alice, step(echo), step(echo), wire_name="inner")
    with monkeypatch.context() as patch:
        patch.setattr(Watch, "is_handing_over", lambda _: bool(workshop.calls))
        run = ran(alice, step(inner))
        assert (run.status, statuses(run)) == ("queued", {1: "running"})
    run = go_on(run)
    assert (run.status, len(workshop.calls), Run.objects.count()) == ("succeeded", 2, 2)


def test_a_loop_is_given_back_between_two_items(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = {"items": {"source": "static", "value": [0, 1]}}
    with monkeypatch.context() as patch:
        patch.setattr(Watch, "is_handing_over", lambda _: bool(workshop.calls))
        run = ran(alice, step(workshop.make("echo"), forEach=loop))
        assert (run.status, statuses(run)) == ("queued", {1: "running", (1, 0): "succeeded"})
    assert go_on(run).status == "succeeded"
    assert len(workshop.calls) == 2


def test_a_step_between_two_attempts_is_given_back_and_tried_once_more(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    retry = {"attempts": 3, "backoffSeconds": 0}
    with monkeypatch.context() as patch:
        patch.setattr(Watch, "is_handing_over", lambda _: bool(workshop.calls))
        run = ran(alice, step(workshop.make("third_time"), retry=retry))
        assert (run.status, statuses(run)) == ("queued", {1: "running"})
    run = go_on(run)
    assert (run.status, run.steps.get().attempts) == ("succeeded", 3)


def test_a_worker_that_lost_the_run_begins_no_step_and_writes_nothing(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    echo = workshop.make("echo")
    run = run_claim(run_of(sequence_of(alice, step(echo), step(echo)), alice).pk)
    assert run is not None
    real = branches.play_step

    def play_step(journey: Any, step: Any, known: Any) -> Any:
        if step.step_number == 2:
            Run.objects.filter(pk=run.pk).update(lease="00000000-0000-4000-8000-000000000000")
        return real(journey, step, known)

    monkeypatch.setattr(branches, "play_step", play_step)
    running.play(run, cancel=Event(), depth=0)
    assert len(workshop.calls) == 1
    assert Run.objects.get().status == "running"
    assert not RunStep.objects.filter(number=2).exists()


def test_pauses_grow_between_attempts_up_to_a_minute(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[float] = []
    monkeypatch.setattr(Watch, "pause", lambda _, seconds: made.append(seconds))
    retry = {"attempts": 4, "backoffSeconds": 10, "backoffFactor": 3}
    failing = workshop.make("fail")
    run = ran(alice, step(failing, retry=retry))
    assert run.status == "failed"
    assert made == [pytest.approx(want, rel=0.11) for want in (10, 30, 60)]
