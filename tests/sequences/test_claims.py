"""Who has a run, for how long, and what becomes of it when its worker gives no sign of life."""

from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from config.celery import app
from registry.models import Tool
from sequences import reaper, states
from sequences.models import Run, RunStep
from sequences.models.run import RunStatus
from sequences.states import Ending, LeaseLost, run_claim
from sequences.step_rows import step_begin, step_end
from tests.sequences import workshop


@pytest.fixture
def tool() -> Tool:
    return workshop.make("echo")


@pytest.fixture
def sequence(alice: User, tool: Tool) -> Tool:
    return workshop.sequence_of(alice, workshop.step(tool))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs that were sent, instead of a broker."""
    names: list[str] = []

    def send(name: str, args: list[str], **options: object) -> None:
        names.append(args[0])

    monkeypatch.setattr("sequences.sending.current_app.send_task", send)
    return names


Commit = Callable[..., object]


def claimed(sequence: Tool, user: User, **fields: object) -> Run:
    run = run_claim(workshop.run_of(sequence, user, **fields).pk)
    assert run is not None
    return run


def later(**time: float) -> datetime:
    return timezone.now() + timedelta(**time)


def status_of(run: Run) -> str:
    run.refresh_from_db()
    return run.status


def test_a_run_is_its_workers_until_the_lease_runs_out(
    alice: User, sequence: Tool, sent: list[str], django_capture_on_commit_callbacks: Commit
) -> None:
    run = claimed(sequence, alice)
    assert reaper.requeue_lost(timezone.now()) == 0
    with django_capture_on_commit_callbacks(execute=True):
        assert reaper.requeue_lost(later(minutes=1)) == 1
    assert sent == [str(run.pk)]
    assert status_of(run) == "queued"
    again = run_claim(run.pk)
    assert again is not None
    assert again.claims == 2


def test_whoever_lost_a_run_neither_ends_nor_pauses_it(alice: User, sequence: Tool) -> None:
    old = claimed(sequence, alice)
    reaper.requeue_lost(later(minutes=1))
    new = run_claim(old.pk)
    for act in (
        lambda: states.run_finish(old, Ending(status=RunStatus.SUCCEEDED)),
        lambda: states.run_pause(old, RunStatus.WAITING),
        lambda: states.run_requeue(old),
    ):
        with pytest.raises(LeaseLost):
            act()
    assert new is not None
    states.run_finish(new, Ending(status=RunStatus.SUCCEEDED))
    assert status_of(new) == "succeeded"


def test_a_run_that_kills_its_workers_fails_in_the_end(alice: User, sequence: Tool) -> None:
    run = workshop.run_of(sequence, alice)
    for _ in range(reaper.MOST_CLAIMS):
        assert run_claim(run.pk) is not None
        reaper.requeue_lost(later(minutes=1))
    assert status_of(run) == "failed"
    assert run.error["code"] == "worker_lost"
    assert "5 workers died" in run.error["message"]


def test_a_finished_step_in_between_begins_the_count_anew(
    alice: User, sequence: Tool, tool: Tool
) -> None:
    run = workshop.run_of(sequence, alice)
    for number in range(1, 8):
        mine = run_claim(run.pk)
        assert mine is not None
        row = RunStep(run=mine, number=number, tool=tool, started_at=timezone.now())
        step_begin(mine, row)
        row.status = "succeeded"
        step_end(mine, row)
        reaper.requeue_lost(later(minutes=1))
    assert status_of(run) == "queued"


def test_a_lost_run_that_was_asked_to_end_is_cancelled(alice: User, sequence: Tool) -> None:
    run = claimed(sequence, alice)
    states.run_cancel(run)
    assert status_of(run) == "running"
    reaper.requeue_lost(later(minutes=1))
    assert status_of(run) == "cancelled"


@pytest.mark.parametrize("status", ["waiting", "attention"])
def test_a_run_that_waits_for_a_person_is_cancelled_at_once(
    alice: User, sequence: Tool, status: str
) -> None:
    run = claimed(sequence, alice)
    asked = RunStep(run=run, number=1, status="waiting", started_at=timezone.now())
    step_end(run, asked)
    states.run_pause(run, RunStatus(status))
    assert status_of(run) == status
    states.run_cancel(run)
    assert status_of(run) == "cancelled"
    assert run.steps.get().status == "failed"


def test_an_answer_that_came_before_the_pause_is_not_overlooked(
    alice: User, sequence: Tool
) -> None:
    run = claimed(sequence, alice)
    states.run_pause(run, RunStatus.WAITING)
    assert status_of(run) == "queued"


def test_runs_beyond_the_limit_wait_for_the_oldest(
    alice: User, tool: Tool, sent: list[str], django_capture_on_commit_callbacks: Commit
) -> None:
    sequence = limited(alice, tool, most=2)
    runs = [workshop.run_of(sequence, alice) for _ in range(4)]
    assert run_claim(runs[2].pk) is None, "two older ones go first"
    first, second = run_claim(runs[0].pk), run_claim(runs[1].pk)
    assert first and second
    assert run_claim(runs[2].pk) is None
    with django_capture_on_commit_callbacks(execute=True):
        states.run_finish(first, Ending(status=RunStatus.SUCCEEDED))
    assert sent == [str(runs[2].pk)]
    assert run_claim(runs[3].pk) is None
    assert run_claim(runs[2].pk) is not None


def test_a_run_inside_of_a_step_needs_no_place(alice: User, tool: Tool) -> None:
    sequence = limited(alice, tool, most=1)
    outer = claimed(sequence, alice)
    row = RunStep(run=outer, number=1, started_at=timezone.now())
    step_begin(outer, row)
    assert run_claim(workshop.run_of(sequence, alice, parent_step=row).pk) is not None


def test_only_runs_with_a_place_are_sent_again(
    alice: User, tool: Tool, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reaper, "_messages", lambda: 0)  # other tests may have left some
    sequence = limited(alice, tool, most=2)
    claimed(sequence, alice)
    runs = [workshop.run_of(sequence, alice) for _ in range(3)]
    assert reaper.resend_unsent(timezone.now()) == 0, "they have only just been made"
    assert reaper.resend_unsent(later(minutes=1)) == 1
    assert sent == [str(runs[0].pk)]


def test_so_many_are_sent_again_as_the_queue_has_lost(
    alice: User, sequence: Tool, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [workshop.run_of(sequence, alice) for _ in range(5)]
    monkeypatch.setattr(reaper, "_messages", lambda: 3)
    assert reaper.resend_unsent(later(minutes=1)) == 2
    assert sent == [str(run.pk) for run in runs[:2]]


def test_the_messages_of_the_queue_are_counted() -> None:
    before = reaper._messages()
    app.send_task("sequences.tasks.execute_run", [str(uuid4())])
    assert reaper._messages() == before + 1


def test_a_queue_that_cannot_be_reached_holds_none(unreachable_queue: None) -> None:
    assert reaper._messages() == 0


def test_a_worker_that_shuts_down_gives_its_runs_back(alice: User, sequence: Tool) -> None:
    run = claimed(sequence, alice)
    Run.objects.filter(pk=run.pk).update(worker="worker@here")
    assert states.runs_hand_over("worker@there") == 0
    assert states.runs_hand_over("worker@here") == 1
    states.run_requeue(run)
    assert status_of(run) == "queued"
    again = run_claim(run.pk)
    assert again is not None
    assert (again.claims, again.hand_over) == (1, False)


def limited(owner: User, tool: Tool, *, most: int) -> Tool:
    step = workshop.step(tool)
    definition = {"format": 1, "steps": [step], "maxConcurrentRuns": most}
    return workshop.sequence_of(owner, step, definition=definition, wire_name="limited")
