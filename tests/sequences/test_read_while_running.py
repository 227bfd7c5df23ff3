"""The pages of a run and its answers over REST, read without a pause while it is at work."""

from collections.abc import Callable, Iterator
from threading import Thread

import pytest
from django.contrib.auth.models import User
from django.db import connections
from django.test import Client

from sequences import running
from sequences.models import Run
from tests import factories
from tests.browser import runs_shown
from tests.sequences import workshop

pytestmark = pytest.mark.django_db(transaction=True)

SignIn = Callable[[User], Client]


@pytest.fixture
def run(alice: User) -> Run:
    calculator = factories.make_builtin("calculator")
    return workshop.run_of(runs_shown.report_sequence(alice, calculator), alice)


@pytest.fixture
def at_work(run: Run) -> Iterator[Thread]:
    """Play the run in a thread, up to its question."""

    def play() -> None:
        try:
            running.execute(run.pk)
        finally:
            connections.close_all()

    thread = Thread(target=play)
    thread.start()
    yield thread
    thread.join()


def addresses(run: Run) -> list[str]:
    parts = [f"/steps/{step}/" for step in run.steps.values_list("pk", flat=True)[:3]]
    return ["/runs/", "/api/v1/runs/"] + [
        f"{under}/runs/{run.pk}{part}" for under in ("", "/api/v1") for part in ("/", *parts)
    ]


def test_whatever_is_read_while_a_run_is_at_work_is_shown(
    run: Run, at_work: Thread, alice: User, client_for: SignIn
) -> None:
    client = client_for(alice)
    while at_work.is_alive():
        answers = {address: client.get(address).status_code for address in addresses(run)}
        assert set(answers.values()) == {200}, answers
    run.refresh_from_db()
    assert run.status == "waiting"
    assert "May the report be sent?" in client.get(f"/runs/{run.pk}/").content.decode()
