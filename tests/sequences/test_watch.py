"""The thread that watches over a run."""

from threading import Event
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from sequences import watch
from sequences.models import Run
from sequences.states import run_claim
from tests import factories
from tests.sequences import workshop

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run() -> Run:
    alice = factories.make_user("alice")
    sequence = workshop.sequence_of(alice, workshop.step(workshop.make("echo")))
    run = run_claim(workshop.run_of(sequence, alice).pk)
    assert run is not None
    return run


def test_a_run_gives_signs_of_life(run: Run, settings: Any) -> None:
    settings.RUN_LEASE_SECONDS = 1
    Run.objects.update(lease_until=timezone.now())
    before = timezone.now()
    with watch.watching(run, Event()):
        workshop.until(lambda: Run.objects.filter(lease_until__gt=before).exists())


def test_steps_in_flight_end_each_at_its_own_time(run: Run) -> None:
    with (
        watch.watching(run, Event()) as watched,
        watched.attempt(0.2) as short,
        watched.attempt(600) as long,
    ):
        assert short.wait(30)
        assert not long.is_set()
        Run.objects.filter(pk=run.pk).update(cancel_requested_at=timezone.now())
        assert long.wait(30)


def test_a_lost_lease_and_a_hand_over_are_heard(run: Run) -> None:
    with watch.watching(run, Event()) as watched:
        Run.objects.filter(pk=run.pk).update(hand_over=True)
        watched.pause(600)
        assert watched.is_handing_over()
        Run.objects.filter(pk=run.pk).update(lease=uuid4())
        workshop.until(watched.is_lost)


def test_an_attempt_of_a_cancelled_run_starts_stopped(run: Run) -> None:
    outer = Event()
    outer.set()
    with watch.watching(run, outer) as watched, watched.attempt(30) as stop:
        assert stop.is_set()


def test_a_pause_ends_when_the_run_is_cancelled(run: Run) -> None:
    with watch.watching(run, Event()) as watched:
        Run.objects.filter(pk=run.pk).update(cancel_requested_at=timezone.now())
        watched.pause(600)
        assert watched.is_cancelled()
