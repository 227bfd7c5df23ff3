"""Start a run in the worker, follow it, and run a sequence inside another."""

from collections.abc import Iterator
from datetime import timedelta
from threading import Event, Thread

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from config.celery import app
from config.lib.types import JsonObject
from registry.context import CallContext
from registry.execution import invoke
from registry.loading import load_spec
from registry.models import Invocation, Tool
from registry.models.invocation import Caller
from registry.results import Failed, Succeeded, ToolResult
from sequences import launch, reaper, running, tasks
from sequences.models import Run
from tests import factories
from tests.sequences import workshop

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice() -> User:
    return factories.make_user("alice")


@pytest.fixture
def worker() -> Iterator[None]:
    """Run what is queued, in a thread that stands for the worker's process."""
    over = Event()

    def work() -> None:
        while not over.wait(0.05):
            for run in Run.objects.filter(status="queued", parent_step=None):
                running.execute(run.pk)
        connection.close()

    thread = Thread(target=work)
    thread.start()
    yield
    over.set()
    thread.join()


def context_for(user: User, **fields: object) -> CallContext:
    return CallContext(user=user, caller=Caller.CHAT).derive(**fields)


def call(tool: Tool, context: CallContext, arguments: JsonObject | None = None) -> ToolResult:
    return invoke(load_spec(tool), arguments or {}, context)


def test_a_sequence_is_called_like_any_tool(alice: User, worker: None) -> None:
    step = workshop.step(
        workshop.make("echo"),
        inputMapping={"text": {"source": "initialInput", "key": "text"}},
        storeOutputAs="a",
    )
    final = {"said": {"source": "previousStep", "step": "a", "path": "text"}}
    sequence = workshop.sequence_of(alice, step, final=final)
    notes: list[JsonObject] = []
    result = call(sequence, context_for(alice, progress=notes.append), {"text": "hi"})
    assert isinstance(result, Succeeded)
    run = Run.objects.get()
    assert result.output == {"said": "hi"}
    assert result.details is not None
    assert result.details["run_id"] == str(run.pk)
    assert [entry["status"] for entry in result.details["log"]] == ["succeeded"]
    assert notes[-1] == {
        "message": "Step 1 succeeded.",
        "step": 1,
        "status": "succeeded",
        "run": str(run.pk),
    }
    assert (run.caller, run.user, run.scopes) == ("chat", alice, None)


def test_a_failed_run_fails_the_call_and_keeps_its_log(alice: User, worker: None) -> None:
    sequence = workshop.sequence_of(alice, workshop.step(workshop.make("fail")))
    result = call(sequence, context_for(alice))
    assert isinstance(result, Failed)
    assert result.error.code == "tool_failed"
    assert result.error.message == "Step 1 (fail) failed: It is broken."
    assert result.details is not None
    assert result.details["log"][0]["error"]["code"] == "tool_failed"
    assert result.details["run_id"] == str(Run.objects.get().pk)


def test_a_caller_who_gives_up_cancels_the_run(alice: User, worker: None) -> None:
    sequence = workshop.sequence_of(alice, workshop.step(workshop.make("until_cancelled")))
    cancel = Event()

    def on_step(note: JsonObject) -> None:
        cancel.set()

    result = call(sequence, context_for(alice, cancel=cancel, progress=on_step))
    assert isinstance(result, Failed)
    assert result.error.code == "cancelled"
    workshop.until(lambda: Run.objects.get().status == "cancelled")


def test_a_run_that_takes_too_long_is_cancelled(alice: User, worker: None) -> None:
    sequence = workshop.sequence_of(alice, workshop.step(workshop.make("until_cancelled")))
    run = launch.launch(load_spec(sequence), {}, context_for(alice))
    workshop.until(lambda: Run.objects.get().status == "running")
    with pytest.raises(launch.ToolTimeout, match=r"did not end within 0.2 s and was cancelled"):
        launch.wait(run, context_for(alice), 0.2)
    workshop.until(lambda: Run.objects.get().status == "cancelled")


def test_a_run_that_no_worker_takes_is_told_as_such(alice: User) -> None:
    sequence = workshop.sequence_of(alice, workshop.step(workshop.make("echo")))
    run = launch.launch(load_spec(sequence), {}, context_for(alice))
    with pytest.raises(launch.ToolUnavailable, match=r"No worker took the sequence within 0.1 s"):
        launch.wait(run, context_for(alice), 0.1)
    assert Run.objects.get().status == "cancelled"


def test_a_run_that_waits_for_others_of_its_sequence_is_told_as_such(alice: User) -> None:
    step = workshop.step(workshop.make("echo"))
    definition = {"format": 1, "steps": [step], "maxConcurrentRuns": 1}
    sequence = workshop.sequence_of(alice, definition=definition, wire_name="alone")
    run = launch.launch(load_spec(sequence), {}, context_for(alice))
    with pytest.raises(launch.ToolUnavailable, match=r"Other runs of alone were at work for 0.1 s"):
        launch.wait(run, context_for(alice), 0.1)


def test_without_a_queue_a_run_waits_and_is_sent_later(
    alice: User, unreachable_queue: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reaper, "_messages", lambda: 0)  # other tests may have left some
    sequence = workshop.sequence_of(alice, workshop.step(workshop.make("echo")))
    run = launch.launch(load_spec(sequence), {}, context_for(alice))
    run.refresh_from_db()
    assert (run.status, run.error["code"]) == ("queued", "queue_unreachable")
    assert "queue cannot be reached" in run.error["message"]
    app.set_current()
    assert reaper.resend_unsent(timezone.now()) == 0, "it has only just been made"
    assert reaper.resend_unsent(timezone.now() + timedelta(minutes=1)) == 1
    run.refresh_from_db()
    assert (run.status, run.error) == ("queued", None)
    tasks.execute_run(str(run.pk))
    run.refresh_from_db()
    assert run.status == "succeeded"
    assert tasks.recover_runs() == (0, 0)


def test_without_a_queue_a_call_fails_clearly_and_leaves_nothing_behind(
    alice: User, unreachable_queue: None
) -> None:
    sequence = workshop.sequence_of(alice, workshop.step(workshop.make("echo")))
    result = call(sequence, context_for(alice))
    assert isinstance(result, Failed)
    assert result.error.code == "tool_unavailable"
    assert "The queue cannot be reached" in result.error.message
    assert Run.objects.get().status == "cancelled"


def test_a_sequence_inside_a_sequence_runs_in_the_same_worker(alice: User) -> None:
    inner = workshop.sequence_of(
        alice,
        workshop.step(workshop.make("echo"), storeOutputAs="a"),
        final={"x": {"source": "static", "value": 7}},
        wire_name="inner",
    )
    outer = workshop.sequence_of(alice, workshop.step(inner, storeOutputAs="inner"))
    run = workshop.run_of(outer, alice)
    running.execute(run.pk)
    run.refresh_from_db()
    child = Run.objects.exclude(pk=run.pk).get()
    assert run.status == "succeeded"
    assert run.steps.get().output == {"x": 7}
    assert child.parent_step == run.steps.get()
    assert child.caller == "sequence"
    assert workshop.calls[0][2].depth == 2
    assert Invocation.objects.filter(run_id=child.pk).count() == 1


def test_a_failure_inside_is_told_outside(alice: User) -> None:
    inner = workshop.sequence_of(alice, workshop.step(workshop.make("fail")), wire_name="inner")
    run = workshop.run_of(workshop.sequence_of(alice, workshop.step(inner)), alice)
    running.execute(run.pk)
    run.refresh_from_db()
    assert run.error["message"] == "Step 1 (inner) failed: Step 1 (fail) failed: It is broken."


def test_sequences_stand_inside_one_another_five_deep_at_most(alice: User) -> None:
    tool = workshop.make("echo")
    for depth in range(6):
        tool = workshop.sequence_of(alice, workshop.step(tool), wire_name=f"nested_{depth}")
    run = workshop.run_of(tool, alice)
    running.execute(run.pk)
    run.refresh_from_db()
    assert run.status == "failed"
    assert "more than 5 deep" in run.error["message"]
    assert Run.objects.count() == 5


def test_a_step_of_a_sequence_inside_stops_with_the_run_outside(alice: User, worker: None) -> None:
    inner = workshop.sequence_of(
        alice, workshop.step(workshop.make("until_cancelled")), wire_name="inner"
    )
    outer = workshop.sequence_of(alice, workshop.step(inner, timeoutSeconds=1))
    result = call(outer, context_for(alice))
    assert isinstance(result, Failed)
    assert "did not answer within the step's 1 s" in result.error.message
    assert Run.objects.get(parent_step__isnull=False).status == "cancelled"


def test_a_run_that_ends_while_it_is_given_up_keeps_its_ending(alice: User) -> None:
    sequence = workshop.sequence_of(alice, workshop.step(workshop.make("echo")))
    run = launch.launch(load_spec(sequence), {}, context_for(alice))
    cancel = Event()
    cancel.set()

    def finish_first(note: JsonObject) -> None:
        """Stand for a worker that is faster by a moment."""
        running.execute(run.pk)

    workshop.calls.clear()
    run.steps.create(number=99, tool_name="x", started_at=timezone.now())
    context = context_for(alice, cancel=cancel, progress=finish_first)
    with pytest.raises(launch.CallCancelled):
        launch.wait(run, context, 5)
    assert Run.objects.get().status == "succeeded"
