"""The tables are emptied behind a test, whoever else is at work on them."""

from __future__ import annotations

import threading

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import OperationalError, connection, transaction
from psycopg.errors import DeadlockDetected, LockNotAvailable

from tests import factories
from tests.emptying.management.commands.flush import MOST_DEADLOCKS, _restored
from tests.live import eventually, waits_for_lock

SOONER, LATER = "4s", "120s"
"""After how long each looks for what keeps it waiting; who looks first is broken off."""


@pytest.mark.django_db(transaction=True)
def test_what_holds_a_table_and_wants_another_does_not_keep_them_from_being_emptied() -> None:
    call_command("flush", interactive=False, verbosity=0)  # the first of a run keeps what is left
    factories.make_user("alice")
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    first, last = tables[0], tables[-1]
    holds, ended = threading.Event(), []

    def work() -> None:
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL deadlock_timeout = '{LATER}'")
                cursor.execute(f"LOCK TABLE public.{last} IN ROW EXCLUSIVE MODE")
                holds.set()
                eventually(waits_for_lock, what="the emptying")
                cursor.execute(f"LOCK TABLE public.{first} IN ROW EXCLUSIVE MODE")
            ended.append("whole")
        finally:
            holds.set()
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    holds.wait()
    with connection.cursor() as cursor:
        cursor.execute(f"SET deadlock_timeout = '{SOONER}'")
    call_command("flush", interactive=False, verbosity=0)
    connection.close()  # and what was set with it
    thread.join()
    assert ended == ["whole"]  # so it was the emptying that was broken off, and tried again
    assert not User.objects.exists()


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
