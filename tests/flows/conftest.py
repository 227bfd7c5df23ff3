"""The whole product, running, for the flows that ask for it; and somebody who has one of all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from tests import factories
from tests.flows.hostility import belongings_of
from tests.live import live, live_processes

__all__ = ["live", "live_processes"]


@pytest.fixture(scope="module")
def belongings(django_db_setup: None, django_db_blocker: Any) -> Iterator[dict[str, Any]]:
    """Make Alice and one of everything once, in a transaction around those of a module's tests."""
    around = transaction.atomic()
    around._from_testcase = True  # type: ignore[attr-defined]  # as Django's own around a class
    with django_db_blocker.unblock():
        around.__enter__()
        made = belongings_of(factories.make_user("alice"))
    yield made
    with django_db_blocker.unblock():
        transaction.set_rollback(True)
        around.__exit__(None, None, None)


@pytest.fixture
def hers(belongings: dict[str, Any], db: None, settings: Any) -> dict[str, Any]:
    """Give what is Alice's, for this test alone: what it changes is rolled back.

    All tests of a module call as her, more often in a minute than one person may.
    """
    settings.API_CALLS_PER_MINUTE = 0
    return dict(belongings)


@pytest.fixture
def owner(hers: dict[str, Any]) -> User:
    """Give her to whom it belongs."""
    return User.objects.get(username="alice")
