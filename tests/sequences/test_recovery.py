"""What becomes of a step under which its worker died."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from registry.models import Invocation, Tool
from registry.models.tool import ToolKind
from sequences import reaper, running
from sequences.definition import parse
from sequences.models import Run, RunStep
from sequences.recovery import settle
from sequences.states import run_claim, run_take
from sequences.step_rows import LeaseLost, step_begin, step_end, step_failed
from tests import factories
from tests.sequences import workshop


@pytest.fixture
def writer() -> Tool:
    """A tool of which nobody knows what it does."""
    return workshop.make("echo")


def begun(alice: User, tool: Tool, **fields: Any) -> tuple[Run, RunStep]:
    """Return a run and its first step, in the hands of a worker."""
    sequence = workshop.sequence_of(alice, workshop.step(tool, **fields))
    run = run_claim(workshop.run_of(sequence, alice).pk)
    assert run is not None
    row = RunStep(
        run=run,
        number=1,
        tool=tool,
        tool_name=tool.wire_name,
        tool_version=tool.version,
        started_at=timezone.now(),
    )
    step_begin(run, row)
    return run, row


def lose(run: Run) -> None:
    """Let the lease of a run run out."""
    assert reaper.requeue_lost(timezone.now() + timedelta(minutes=1)) == 1


def taken_up(run: Run) -> tuple[Run, bool]:
    """Return the run as its next worker has it, and whether it may go on."""
    again = run_claim(run.pk)
    assert again is not None
    return again, settle(again, parse(again.plan))


def test_a_step_that_may_have_done_its_work_is_in_doubt(alice: User, writer: Tool) -> None:
    run, row = begun(alice, writer)
    lose(run)
    again, goes_on = taken_up(run)
    row.refresh_from_db()
    again.refresh_from_db()
    assert (goes_on, again.status, row.status) == (False, "attention", "in_doubt")
    assert (again.error or {})["code"] == "needs_attention"
    assert "stopped in step 1 (echo)" in (again.error or {})["message"]
    assert (row.error or {})["code"] == "step_in_doubt"
    running.execute(run.pk)
    assert workshop.calls == [], "nobody calls it again before a person said so"


@pytest.mark.parametrize(
    ("make", "fields"),
    [
        (lambda: factories.make_builtin("change_case"), {}),
        (lambda: workshop.make("echo"), {"repeatable": True}),
        (lambda: workshop.make("echo", kind=ToolKind.API, definition={"method": "PUT"}), {}),
    ],
    ids=["read-only", "repeatable by its author", "idempotent"],
)
def test_a_step_that_may_be_done_twice_begins_again(
    alice: User, make: Any, fields: dict[str, Any]
) -> None:
    run, row = begun(alice, make(), **fields)
    lose(run)
    again, goes_on = taken_up(run)
    row.refresh_from_db()
    assert (goes_on, row.status, row.lease, row.attempts) == (True, "running", None, 2)
    step_begin(again, row)
    assert again.steps.get().lease == again.lease


def test_a_program_may_have_called_anything(alice: User) -> None:
    run, _ = begun(alice, workshop.make("echo", kind=ToolKind.CODE))
    lose(run)
    assert taken_up(run)[1] is False


def test_a_step_between_two_attempts_is_in_no_doubt(alice: User, writer: Tool) -> None:
    run, row = begun(alice, writer)
    row.error = {"code": "tool_crashed"}
    step_failed(run, row)
    lose(run)
    assert taken_up(run)[1] is True
    row.refresh_from_db()
    assert (row.status, row.attempts) == ("running", 1)


def test_a_loop_goes_on_where_its_iterations_stand(alice: User, writer: Tool) -> None:
    items = {"source": "static", "value": [1, 2]}
    run, loop = begun(alice, writer, forEach={"items": items})
    done = RunStep(run=run, number=1, iteration=0, tool=writer, started_at=timezone.now())
    due = RunStep(run=run, number=1, iteration=1, tool=writer, started_at=timezone.now())
    step_begin(run, done)
    done.status = "succeeded"
    step_end(run, done)
    step_begin(run, due)
    lose(run)
    assert taken_up(run)[1] is False
    for row, status in ((loop, "running"), (done, "succeeded"), (due, "in_doubt")):
        row.refresh_from_db()
        assert row.status == status


def test_the_next_worker_goes_on_behind_the_last_finished_step(alice: User) -> None:
    first, second = workshop.make("echo"), workshop.make("echo", wire_name="second")
    sequence = workshop.sequence_of(
        alice, workshop.step(first, storeOutputAs="a"), workshop.step(second)
    )
    run = run_claim(workshop.run_of(sequence, alice).pk)
    assert run is not None
    row = RunStep(run=run, number=1, tool=first, started_at=timezone.now())
    step_begin(run, row)
    row.status, row.output = "succeeded", {"said": "once"}
    step_end(run, row)
    lose(run)
    running.execute(run.pk)
    run.refresh_from_db()
    assert run.status == "succeeded"
    assert len(workshop.calls) == 1, "the first step is not called again"


def test_a_sequence_inside_goes_on_and_is_not_begun_again(alice: User, writer: Tool) -> None:
    other = workshop.make("echo", wire_name="other")
    inner = workshop.sequence_of(
        alice, workshop.step(writer), workshop.step(other), wire_name="inner"
    )
    run, row = begun(alice, inner)
    inside = run_claim(workshop.run_of(inner, alice, parent_step=row, caller="sequence").pk)
    assert inside is not None
    done = RunStep(run=inside, number=1, tool=writer, started_at=timezone.now())
    step_begin(inside, done)
    done.status, done.output = "succeeded", 1
    step_end(inside, done)
    lose(run)
    inside.refresh_from_db()
    assert inside.status == "queued"
    running.execute(run.pk)
    run.refresh_from_db()
    inside.refresh_from_db()
    assert (run.status, inside.status) == ("succeeded", "succeeded")
    assert Run.objects.filter(parent_step=row).count() == 1
    assert len(workshop.calls) == 1
    assert run_take(inside) is None


def test_a_late_result_settles_the_doubt(alice: User, writer: Tool) -> None:
    run, row = begun(alice, writer)
    lose(run)
    taken_up(run)
    row.status, row.output, row.duration_ms = "succeeded", "late", 9
    call = Invocation(
        tool=writer,
        tool_version=1,
        caller="sequence",
        user=alice,
        outcome="succeeded",
        phase="execute",
        arguments={},
        duration_ms=9,
    )
    with pytest.raises(LeaseLost):
        step_end(run, row, [call])
    row.refresh_from_db()
    run.refresh_from_db()
    assert (row.status, row.output, run.status) == ("succeeded", "late", "queued")
    assert Invocation.objects.filter(pk=call.pk).exists()
    running.execute(run.pk)
    run.refresh_from_db()
    assert run.status == "succeeded"


def test_a_late_result_of_a_step_that_began_again_is_dropped_but_its_call_is_kept(
    alice: User,
) -> None:
    tool = factories.make_builtin("change_case")
    run, row = begun(alice, tool)
    lose(run)
    again, _ = taken_up(run)
    newer = again.steps.get()
    step_begin(again, newer)
    row.status, row.output = "succeeded", "late"
    call = Invocation(
        tool=tool,
        tool_version=1,
        caller="sequence",
        user=alice,
        outcome="succeeded",
        phase="execute",
        arguments={},
        duration_ms=9,
    )
    with pytest.raises(LeaseLost):
        step_end(run, row, [call])
    newer.refresh_from_db()
    assert (newer.status, newer.output) == ("running", None)
    assert Invocation.objects.filter(pk=call.pk).exists()
