"""Rows of steps, written under the lease of their run."""

from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from registry.models import Invocation, Tool
from sequences.models import Run, RunStep
from sequences.states import run_claim
from sequences.step_rows import Journal, LeaseLost, step_begin, step_end, step_failed
from tests.sequences import workshop


@pytest.fixture
def tool() -> Tool:
    return workshop.make("echo")


@pytest.fixture
def run(alice: User, tool: Tool) -> Run:
    claimed = run_claim(workshop.run_of(workshop.sequence_of(alice, workshop.step(tool)), alice).pk)
    assert claimed is not None
    return claimed


def row_of(run: Run, tool: Tool, number: int = 1) -> RunStep:
    return RunStep(
        run=run,
        number=number,
        tool=tool,
        tool_name="echo",
        tool_version=1,
        input={"text": "é"},
        started_at=timezone.now(),
    )


def call_of(run: Run, tool: Tool) -> Invocation:
    return Invocation(
        tool=tool,
        tool_version=1,
        caller="sequence",
        user=run.user,
        run_id=run.pk,
        outcome="succeeded",
        phase="execute",
        arguments={"text": "é"},
        output=None,
        duration_ms=3,
    )


def take_away(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(lease=uuid4())


def test_a_step_is_written_as_it_begins_and_as_it_ends(run: Run, tool: Tool) -> None:
    row, call = row_of(run, tool), call_of(run, tool)
    step_begin(run, row)
    stored = run.steps.get()
    assert (stored.status, stored.lease, stored.input) == ("running", run.lease, {"text": "é"})
    row.status, row.output, row.duration_ms = "succeeded", [1, None, "ü"], 12
    step_end(run, row, [call])
    stored.refresh_from_db()
    assert (stored.status, stored.output, stored.duration_ms) == ("succeeded", [1, None, "ü"], 12)
    assert Invocation.objects.get().arguments == {"text": "é"}


def test_a_step_that_never_began_is_written_whole(run: Run, tool: Tool) -> None:
    row = row_of(run, tool)
    row.status, row.message = "skipped", "Not needed."
    step_end(run, row)
    assert run.steps.get().message == "Not needed."


def test_the_end_of_a_step_waits_for_the_begin_of_the_next(run: Run, tool: Tool) -> None:
    journal, first, second = Journal(run), row_of(run, tool), row_of(run, tool, 2)
    journal.begin(first)
    first.status = "succeeded"
    journal.end(first, [call_of(run, tool)])
    assert run.steps.get().status == "running"
    journal.begin(second)
    assert [row.status for row in run.steps.order_by("number")] == ["succeeded", "running"]
    second.status = "failed"
    journal.end(second)
    journal.flush()
    journal.flush()
    assert [row.status for row in run.steps.order_by("number")] == ["succeeded", "failed"]
    assert Invocation.objects.count() == 1


def test_a_failed_attempt_leaves_its_step_with_nobody(run: Run, tool: Tool) -> None:
    row = row_of(run, tool)
    step_begin(run, row)
    row.error = {"code": "tool_crashed"}
    step_failed(run, row, [call_of(run, tool)])
    stored = run.steps.get()
    assert (stored.status, stored.lease, stored.error) == (
        "running",
        None,
        {"code": "tool_crashed"},
    )
    row.attempts = 2
    step_begin(run, row)
    stored.refresh_from_db()
    assert (stored.attempts, stored.lease, stored.error) == (2, run.lease, {"code": "gone"})


def test_whoever_lost_the_lease_begins_nothing(run: Run, tool: Tool) -> None:
    take_away(run)
    with pytest.raises(LeaseLost):
        step_begin(run, row_of(run, tool))
    assert not run.steps.exists()
