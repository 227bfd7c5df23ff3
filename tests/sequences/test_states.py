"""How a run moves from one state to the next."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import ProgrammingError
from django.utils import timezone

from config.lib.errors import Conflict
from sequences import running, states, tasks
from sequences.models import Run, RunStep
from tests.sequences import workshop


@pytest.fixture
def run(alice: User) -> Run:
    sequence = workshop.sequence_of(alice, workshop.step(workshop.make("echo")))
    return workshop.run_of(sequence, alice)


def test_only_one_worker_gets_a_run(run: Run) -> None:
    assert states.run_claim(run.pk) is not None
    assert states.run_claim(run.pk) is None


def test_a_run_that_waits_is_cancelled_at_once(run: Run) -> None:
    states.run_cancel(run)
    assert (run.status, run.error["code"], run.is_finished) == ("cancelled", "cancelled", True)
    running.execute(run.pk)
    assert run.steps.count() == 0


def test_a_run_under_way_is_asked_to_cancel(run: Run) -> None:
    states.run_claim(run.pk)
    states.run_cancel(run)
    assert run.status == "running"
    assert run.cancel_requested_at is not None


def test_a_run_that_is_over_cannot_be_cancelled(run: Run) -> None:
    running.execute(run.pk)
    with pytest.raises(Conflict, match="over already"):
        states.run_cancel(run)


def test_the_database_refuses_to_go_back(run: Run) -> None:
    running.execute(run.pk)
    with pytest.raises(ProgrammingError, match="Invalid transition"):
        Run.objects.filter(pk=run.pk).update(status="queued", finished_at=None)


def test_a_run_whose_worker_is_gone_is_failed_with_the_step_to_retry_from(run: Run) -> None:
    states.run_claim(run.pk)
    RunStep.objects.create(
        run=run, number=1, tool=None, tool_name="echo", started_at=timezone.now()
    )
    assert tasks.fail_abandoned_runs() == 0, "it has just given a sign of life"
    assert states.runs_fail_abandoned(timezone.now() + timedelta(minutes=2)) == 1
    run.refresh_from_db()
    assert (run.status, run.error["code"]) == ("failed", "worker_lost")
    assert run.error["hint"].endswith("retry from step 1.")
    assert run.steps.get().status == "failed"


def test_a_worker_lost_between_two_steps_is_told_with_the_next(run: Run) -> None:
    states.run_claim(run.pk)
    states.runs_fail_abandoned(timezone.now() + timedelta(minutes=2))
    run.refresh_from_db()
    assert run.error["extra"] == {"step": 1}
