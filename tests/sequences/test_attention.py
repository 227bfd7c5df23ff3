"""A person says what became of a step that is in doubt."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from config.lib.errors import Conflict, InvalidInput
from registry.models import Tool
from sequences import running
from sequences.attention import step_resolve
from sequences.models import Run, RunStep
from sequences.states import run_cancel
from tests.sequences import workshop
from tests.sequences.test_recovery import begun, lose, taken_up


@pytest.fixture
def tool() -> Tool:
    return workshop.make("echo", output_schema={"type": "object", "required": ["id"]})


@pytest.fixture
def step(alice: User, tool: Tool) -> RunStep:
    run, row = begun(alice, tool)
    lose(run)
    taken_up(run)
    row.refresh_from_db()
    return row


def run_of(step: RunStep) -> Run:
    return Run.objects.get(pk=step.run_id)


def test_a_step_is_tried_again(alice: User, step: RunStep) -> None:
    step_resolve(step, user=alice, action="retry")
    assert (step.status, step.attempts, run_of(step).status) == ("running", 2, "queued")
    running.execute(step.run_id)
    step.refresh_from_db()
    assert (step.status, run_of(step).status) == ("succeeded", "succeeded")
    assert len(workshop.calls) == 1


def test_a_step_is_marked_as_done_with_its_output(alice: User, step: RunStep) -> None:
    step_resolve(step, user=alice, action="done", output={"id": 7})
    assert (step.status, step.output) == ("succeeded", {"id": 7})
    assert step.message == "alice marked it as done."
    running.execute(step.run_id)
    assert run_of(step).status == "succeeded"
    assert workshop.calls == []


def test_a_step_is_skipped(alice: User, step: RunStep) -> None:
    step_resolve(step, user=alice, action="skip")
    assert (step.status, step.output, step.error) == ("skipped", None, None)
    running.execute(step.run_id)
    assert run_of(step).status == "succeeded"


def test_an_output_that_the_tool_would_not_give_is_refused(alice: User, step: RunStep) -> None:
    with pytest.raises(InvalidInput, match=r"does not fit the tool's schema: \$\.id is required"):
        step_resolve(step, user=alice, action="done", output={})
    with pytest.raises(InvalidInput, match="at most 1,000,000"):
        step_resolve(step, user=alice, action="done", output={"id": "x" * 1_000_001})
    step.refresh_from_db()
    assert (step.status, run_of(step).status) == ("in_doubt", "attention")


def test_it_is_said_once(alice: User, step: RunStep) -> None:
    step_resolve(step, user=alice, action="skip")
    with pytest.raises(Conflict, match="not in doubt"):
        step_resolve(step, user=alice, action="retry")


def test_a_cancelled_run_keeps_its_doubt_and_hears_no_more(alice: User, step: RunStep) -> None:
    run_cancel(run_of(step))
    step.refresh_from_db()
    assert (step.status, run_of(step).status) == ("in_doubt", "cancelled")
    with pytest.raises(Conflict, match="not in doubt"):
        step_resolve(step, user=alice, action="retry")


def test_the_run_waits_until_nothing_is_in_doubt_any_more(alice: User, step: RunStep) -> None:
    other = RunStep.objects.create(
        run_id=step.run_id, number=2, status="in_doubt", started_at=timezone.now()
    )
    step_resolve(step, user=alice, action="skip")
    assert run_of(step).status == "attention"
    step_resolve(other, user=alice, action="skip")
    assert run_of(step).status == "queued"


def test_a_step_of_a_sequence_inside_wakes_the_run_around_it(alice: User, tool: Tool) -> None:
    inner = workshop.sequence_of(alice, workshop.step(tool), wire_name="inner")
    outer, row = begun(alice, inner)
    inside = Run.objects.create(
        tool=inner,
        tool_version=inner.versions.get(),
        user=alice,
        caller="sequence",
        parent_step=row,
        status="attention",
    )
    doubt = RunStep.objects.create(
        run=inside, number=1, status="in_doubt", started_at=timezone.now()
    )
    Run.objects.filter(pk=outer.pk).update(status="attention", lease=None, lease_until=None)
    step_resolve(doubt, user=alice, action="skip")
    outer.refresh_from_db()
    inside.refresh_from_db()
    assert (outer.status, inside.status) == ("queued", "queued")
