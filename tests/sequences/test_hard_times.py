"""Runs to which something happens at the worst moment."""

import re
import time
from datetime import timedelta
from threading import Event, Thread
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import InterfaceError, OperationalError, connection, transaction
from django.urls import reverse
from django.utils import timezone

from config.lib.types import JsonObject
from registry.context import CallContext
from registry.errors import ToolCrashed
from registry.models import Tool
from sequences import executor, reaper, running, step_rows, tasks, watch
from sequences.models import Run, RunRequest, RunStep
from sequences.requests import request_answer, requests_expire
from sequences.running import pauses
from sequences.states import LeaseLost, database_now, run_cancel, run_claim
from sequences.step_rows import step_begin, step_end
from tests import factories
from tests.sequences import workshop
from tests.sequences.workshop import fixed, go_on, ran, run_of, sequence_of, statuses, step

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice() -> User:
    return factories.make_user("alice")


class Died(BaseException):
    """The worker is gone, and nothing of it is left to write anything."""


def tool_that(does: Any, monkeypatch: pytest.MonkeyPatch) -> Tool:
    """Make a tool that does what `does(context)` does."""

    def act(self: object, arguments: JsonObject, context: CallContext) -> Any:
        return does(context)

    monkeypatch.setattr(workshop.WorkshopExecutor, "act", act, raising=False)
    return workshop.make("act")


def beside(tool: Tool, branch: str, **fields: Any) -> JsonObject:
    return step(tool, parallel={"group": "g", "branch": branch}, **fields)


def asking(alice: User, **approval: Any) -> Tool:
    question = {"approval": {"title": "Go on?", **approval}, "storeOutputAs": "said"}
    return sequence_of(alice, question)


def answered(user: User, **fields: Any) -> None:
    """Answer the only question there is, once it is asked."""
    request = workshop.until(lambda: RunRequest.objects.filter(approved=None).first())
    request_answer(request, user=user, approved=True, **fields)


def test_the_end_of_a_step_does_not_wait_for_the_branches_behind_it(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def look(context: CallContext) -> None:
        seen.append(RunStep.objects.get(run=context.run_id, number=1).status)

    looks = tool_that(look, monkeypatch)
    ran(alice, step(workshop.make("echo")), beside(looks, "one"), beside(looks, "two"))
    assert seen == ["succeeded", "succeeded"]


def test_the_last_step_is_kept_when_the_database_goes_as_the_run_ends(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems = [OperationalError("The server closed the connection.")]
    real = step_rows.Statement.run

    def carry_out(self: step_rows.Statement, answer: str) -> Any:
        if problems and any('"finished_at"' in part for part in self._parts):
            raise problems.pop()
        return real(self, answer)

    monkeypatch.setattr(step_rows.Statement, "run", carry_out)
    echo = workshop.make("echo")
    run = ran(alice, step(echo), step(echo, disabled=True), final=fixed(n=1))
    assert not problems
    assert (run.status, statuses(run)) == ("succeeded", {1: "succeeded", 2: "skipped"})


def test_nothing_is_tried_again_after_a_cancel_in_the_pause(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(context: CallContext) -> None:
        run_cancel(Run.objects.get(pk=context.run_id))
        raise ToolCrashed("Gone.")

    crashing = tool_that(crash, monkeypatch)
    run = ran(alice, step(crashing, retry={"attempts": 3, "backoffSeconds": 30}))
    assert (run.status, len(workshop.calls)) == ("cancelled", 1)
    assert run.steps.get().error["code"] == "cancelled"


def test_a_sequence_inside_that_a_person_cancels_is_not_told_as_too_slow(alice: User) -> None:
    run = ran(alice, step(asking(alice), retry={"attempts": 3}))
    run_cancel(Run.objects.get(parent_step__run=run))
    run = go_on(run)
    assert (run.status, run.steps.get().error["code"]) == ("failed", "cancelled")
    assert run.steps.get().attempts == 1


def test_a_worker_that_lost_the_run_begins_no_sequence_inside_of_it(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(*args: object) -> None:
        Run.objects.filter(parent_step=None).update(lease=uuid4())

    monkeypatch.setattr(executor, "require_steps_credentials", lose)
    run = ran(alice, step(sequence_of(alice, step(workshop.make("echo")))))
    assert (run.status, workshop.calls) == ("running", [])
    assert not Run.objects.filter(parent_step__isnull=False).exists()


def test_two_steps_whose_results_come_late_together_let_the_run_go_on(alice: User) -> None:
    echo = workshop.make("echo")
    run = run_claim(run_of(sequence_of(alice, beside(echo, "a"), beside(echo, "b")), alice).pk)
    assert run is not None
    rows = [RunStep(run=run, number=n, tool=echo, started_at=timezone.now()) for n in (1, 2)]
    for row in rows:
        step_begin(run, row)
        row.status = "succeeded"
    run.steps.update(status="in_doubt")
    Run.objects.filter(pk=run.pk).update(status="attention", lease=None, lease_until=None)

    def deliver(row: RunStep) -> None:
        with pytest.raises(LeaseLost):
            step_end(run, row)

    def deliver_beside() -> None:
        try:
            deliver(rows[1])
        finally:
            connection.close()

    second = Thread(target=deliver_beside)
    with transaction.atomic():
        deliver(rows[0])
        second.start()
        time.sleep(0.5)  # long enough for the other to look
    second.join()
    assert (Run.objects.get(pk=run.pk).status, set(statuses(run).values())) == (
        "queued",
        {"succeeded"},
    )


def test_a_worker_that_dies_as_it_lets_go_of_an_answered_run_does_not_leave_it_waiting(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*args: object) -> None:
        raise Died

    answers = tool_that(lambda context: answered(alice), monkeypatch)
    run = run_of(sequence_of(alice, beside(asking(alice), "a"), beside(answers, "b")), alice)
    with monkeypatch.context() as patch, pytest.raises(Died):
        patch.setattr(pauses, "run_wake", die)
        running.execute(run.pk)
    Run.objects.filter(status="running").update(lease_until=timezone.now())
    assert reaper.requeue_lost(database_now()) == 1
    assert go_on(run).status == "succeeded"


@pytest.mark.parametrize("problem", [InterfaceError("closed"), RuntimeError("odd")])
def test_a_watch_that_cannot_look_once_looks_again(
    alice: User, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    run = run_claim(run_of(sequence_of(alice, step(workshop.make("echo"))), alice).pk)
    assert run is not None
    real, problems = watch.Watchman._look, [problem]

    def look(self: watch.Watchman, watches: list[watch.Watch]) -> None:
        if problems:
            raise problems.pop()
        real(self, watches)

    monkeypatch.setattr(watch.Watchman, "_look", look)
    with watch.watching(run, Event()) as watched:
        run_cancel(run)
        workshop.until(watched.is_cancelled)


def test_a_run_that_cannot_be_taken_from_its_worker_keeps_no_other_from_it(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    sequence = sequence_of(alice, step(workshop.make("echo")))
    runs = [run_claim(run_of(sequence, alice).pk) for _ in range(2)]
    Run.objects.update(lease_until=timezone.now())

    def inside(run: Run) -> list[Run]:
        if run == runs[0]:
            raise OperationalError("deadlock detected")
        return []

    monkeypatch.setattr(reaper, "_at_work_inside", inside)
    assert reaper.requeue_lost(database_now()) == 1


def test_runs_that_wait_for_a_place_keep_no_other_from_being_sent(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    echo = workshop.make("echo")
    definition = {"format": 1, "steps": [step(echo)], "maxConcurrentRuns": 1}
    limited = sequence_of(alice, definition=definition)
    for _ in range(3):
        run_of(limited, alice)
    first = Run.objects.order_by("created_at").first()
    assert first is not None
    run_claim(first.pk)
    other = run_of(sequence_of(alice, step(echo)), alice)
    sent: list[Any] = []
    monkeypatch.setattr(reaper, "enqueue", lambda run_id: sent.append(run_id) or True)
    monkeypatch.setattr(reaper, "_messages", lambda: 0)
    monkeypatch.setattr(reaper, "MOST_SENT", 1)
    reaper.resend_unsent(timezone.now() + reaper.UNSENT)
    assert sent == [other.pk]


def unreadable(run: Run) -> None:
    """Let the definition of a run be one that this version of Outfitter cannot read."""
    definition = {"format": 99, "steps": []}
    Run.objects.filter(pk=run.pk).update(tool_version=None, definition=definition)


def test_a_question_of_a_definition_that_cannot_be_read_is_put_away_with_the_others(
    alice: User,
) -> None:
    runs = [go_on(run_of(asking(alice, expiresAfterSeconds=60), alice)) for _ in range(2)]
    unreadable(runs[0])
    RunRequest.objects.update(expires_at=timezone.now())
    assert requests_expire(timezone.now()) == 2
    ended = [go_on(run) for run in runs]
    assert [run.status for run in ended] == ["failed", "failed"]
    assert ended[0].error["code"] == "invalid_definition"
    assert requests_expire(timezone.now()) == 0


def test_an_answer_with_null_bytes_is_kept_as_well_as_it_can_be(alice: User) -> None:
    form = {"type": "object", "properties": {"why": {"type": "string"}}}
    run = go_on(run_of(asking(alice, inputSchema=form), alice))
    answered(alice, values={"why": "a\x00b"}, note="\x00")
    assert go_on(run).steps.get().output["values"] == {"why": "a\ufffdb"}


def test_the_account_of_a_run_that_is_closed_ends_it(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def close(context: CallContext) -> None:
        User.objects.filter(pk=alice.pk).update(is_active=False)
        context.cancel.wait(60)

    run = ran(alice, step(tool_that(close, monkeypatch)), step(workshop.make("echo")))
    assert (run.status, run.error["code"]) == ("failed", "owner_inactive")
    assert [name for name, *_ in workshop.calls] == ["act"]


@pytest.mark.parametrize("page", ["delete", "changelist"])
def test_a_person_whose_run_is_at_work_is_kept_and_so_is_the_run(
    alice: User, governor: User, client_for: Any, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    answers = []

    def delete(_: CallContext) -> str:
        sent = {"post": "yes", "action": "delete_selected", "_selected_action": [str(alice.pk)]}
        address = reverse(f"admin:auth_user_{page}", args=[alice.pk] if page == "delete" else [])
        answers.append(client_for(governor).post(address, sent))
        return "deleted?"

    run = ran(alice, step(tool_that(delete, monkeypatch)), step(workshop.make("echo")))
    assert (run.status, run.error) == ("succeeded", None)
    assert answers[0].status_code == 200
    told = re.search(r"alice: ([^<]*)", answers[0].content.decode())
    assert told and {"1 run", "1 tool"} <= set(told[1].split(", "))


def test_a_run_whose_account_was_closed_in_the_queue_calls_nothing(alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(is_active=False)
    run = ran(alice, step(workshop.make("echo")))
    assert (run.status, run.error["code"], workshop.calls) == ("failed", "owner_inactive", [])


def test_a_worker_whose_clock_is_wrong_keeps_its_run(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now - timedelta(hours=1))
    run_claim(run_of(sequence_of(alice, step(workshop.make("echo"))), alice).pk)
    monkeypatch.setattr(timezone, "now", lambda: now + timedelta(hours=1))
    assert tasks.recover_runs()[0] == 0


def test_a_loop_ends_as_soon_as_its_outputs_are_too_large_together(alice: User) -> None:
    large = step(
        workshop.make("large"),
        forEach={"items": {"source": "static", "value": [1] * 9}, "parallel": 2},
        inputMapping=fixed(size=300_000),
    )
    run = ran(alice, large)
    assert (run.status, run.error["code"]) == ("failed", "output_rejected")
    assert len(workshop.calls) < 6


def test_a_thousand_items_that_are_skipped_take_little_time(alice: User) -> None:
    items = {"source": "static", "value": [{"n": n, "text": "x" * 500} for n in range(1000)]}
    echo = workshop.make("echo")
    loop = step(echo, forEach={"items": items, "maxItems": 1000}, when="item.n < 0")
    feeding = step(echo, inputMapping={"list": items}, storeOutputAs="list")
    started = time.thread_time()  # what others do on this machine does not count
    run = ran(alice, feeding, loop)
    assert (run.status, run.steps.filter(status="skipped").count()) == ("succeeded", 1000)
    assert time.thread_time() - started < 12, "the list before is not copied for each item"
