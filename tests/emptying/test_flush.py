"""Emptying the test database while a test's last writes are under way."""

import pytest
from django.db import OperationalError
from psycopg.errors import DeadlockDetected, LockNotAvailable

from tests.emptying.management.commands.flush import MOST_DEADLOCKS, _restored


def failing(kind: type[Exception], times: int, tries: list[int]) -> None:
    """Fail so many times as Django does with an error of psycopg."""
    tries.append(1)
    if len(tries) <= times:
        raise OperationalError from kind()


def test_tables_are_emptied_behind_writers_with_which_it_waited_in_a_circle() -> None:
    tries: list[int] = []
    _restored(lambda: failing(DeadlockDetected, MOST_DEADLOCKS, tries))
    assert len(tries) == MOST_DEADLOCKS + 1


def test_a_circle_without_end_is_told() -> None:
    tries: list[int] = []
    with pytest.raises(OperationalError):
        _restored(lambda: failing(DeadlockDetected, MOST_DEADLOCKS + 1, tries))


def test_what_else_goes_wrong_is_told_at_once() -> None:
    tries: list[int] = []
    with pytest.raises(OperationalError):
        _restored(lambda: failing(LockNotAvailable, 1, tries))
    assert len(tries) == 1
