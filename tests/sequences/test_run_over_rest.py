"""A sequence is run over REST: once for a key, and waited for."""

from collections.abc import Iterator
from threading import Barrier, Event, Thread
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from sequences import running
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


def post(user: User, url: str, **headers: str) -> Any:
    client = Client()
    client.force_login(user)
    return client.post(
        url, {"arguments": {"n": 1}}, content_type="application/json", headers=headers
    )


def address(user: User, export: str = "echo") -> str:
    mapped = {"n": {"source": "initialInput", "key": "n"}}
    made = workshop.step(workshop.make(export), inputMapping=mapped)
    return f"/api/v1/tools/{workshop.sequence_of(user, made).pk}/run/"


def test_the_same_key_sent_at_once_starts_one_run(alice: User) -> None:
    url, together, told = address(alice), Barrier(4), []

    def send() -> None:
        together.wait()
        answer = post(alice, url, **{"Idempotency-Key": "once"})
        told.append((answer.status_code, answer.json().get("run")))
        connection.close()

    senders = [Thread(target=send) for _ in range(4)]
    for thread in senders:
        thread.start()
    for thread in senders:
        thread.join()
    assert Run.objects.count() == 1
    assert {code for code, _ in told} <= {202, 409} and (202, str(Run.objects.get().pk)) in told
    again = post(alice, url, **{"Idempotency-Key": "once"})
    assert (again.status_code, again["Idempotent-Replayed"]) == (202, "true")
    assert again.json()["run"] == str(Run.objects.get().pk)


def test_a_run_that_ends_in_time_comes_with_its_output(alice: User, worker: None) -> None:
    answer = post(alice, address(alice) + "?wait=30")
    assert (answer.status_code, answer.json()["status"]) == (202, "succeeded")
    assert answer.json()["output"][0]["output"] == {"n": 1} and answer.json()["error"] is None


def test_a_run_that_fails_in_time_comes_with_its_error(alice: User, worker: None) -> None:
    told = post(alice, address(alice, "fail") + "?wait=30").json()
    assert (told["status"], told["error"]["code"]) == ("failed", "tool_failed")


def test_a_run_that_is_not_over_in_time_goes_on(alice: User) -> None:
    answer = post(alice, address(alice) + "?wait=0.3")
    assert answer.status_code == 202
    assert answer.json()["status"] == "queued" and "output" not in answer.json()
    assert Run.objects.get().status == "queued"


@pytest.mark.parametrize("wait", ["31", "-1", "soon", "nan"])
def test_a_wait_that_is_too_long_or_none_is_refused(alice: User, wait: str) -> None:
    answer = post(alice, f"{address(alice)}?wait={wait}")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
    assert not Run.objects.exists()
