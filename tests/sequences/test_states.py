"""How a run moves from one state to the next."""

import pytest
from django.contrib.auth.models import User
from django.db import ProgrammingError

from config.lib.errors import Conflict
from sequences import running, states
from sequences.models import Run
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
