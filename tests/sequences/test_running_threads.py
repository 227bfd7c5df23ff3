"""Jobs that are shared among a few threads."""

from functools import partial
from threading import Barrier, Lock

import pytest

from sequences.running import threads

pytestmark = pytest.mark.django_db(transaction=True)


def test_jobs_are_done_at_the_same_time() -> None:
    together = Barrier(3)
    threads.share([partial(together.wait, 60)] * 3, at_once=3)  # type: ignore[list-item]


def test_no_more_jobs_than_asked_for_are_done_at_a_time() -> None:
    lock, now, most = Lock(), 0, 0
    pairs = Barrier(2)

    def job() -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        pairs.wait(60)
        with lock:
            now -= 1

    threads.share([job] * 6, at_once=2)
    assert most == 2


def test_after_a_job_that_fails_no_other_is_begun_and_its_error_is_raised() -> None:
    done: list[int] = []

    def job(number: int) -> None:
        done.append(number)
        if number == 1:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        threads.share((partial(job, number) for number in range(5)), at_once=1)
    assert done == [0, 1]


def test_a_busy_process_does_the_jobs_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_room", threads._Room(0))
    done: list[int] = []
    threads.share((partial(done.append, number) for number in range(4)), at_once=4)
    assert done == [0, 1, 2, 3]


def test_threads_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    room = threads._Room(2)
    monkeypatch.setattr(threads, "_room", room)
    threads.share([lambda: None] * 5, at_once=5)
    assert room.take(5) == 2
