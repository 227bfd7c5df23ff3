"""Fixtures for every test: the same four people everywhere, and clients signed in as them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from django.test import Client

if TYPE_CHECKING:
    from django.contrib.auth.models import Group, User


REDIS_SECONDS = 30
"""How long the counters of requests and calls wait for Redis here: a busy machine is no outage."""


@pytest.fixture(scope="session", autouse=True)
def _patience_with_redis() -> None:
    """Have each request counted that a test sends, however long Redis takes on a busy machine.

    In the product one goes on uncounted, and those of the next seconds, where Redis is late.
    """
    from config.lib import api_limits
    from registry import limits

    api_limits.REDIS_SECONDS = REDIS_SECONDS
    limits.REDIS_SECONDS = REDIS_SECONDS


@pytest.fixture(autouse=True)
def _fresh_search(request: pytest.FixtureRequest) -> Iterator[None]:
    """Give each test that searches an index of its own data."""
    yield
    if "registry.search.service" in sys.modules:
        sys.modules["registry.search.service"].reset()
    if "registry.search.in_force" in sys.modules:
        sys.modules["registry.search.in_force"].reset()
    if "registry.running" in sys.modules:  # it follows the same change feed
        sys.modules["registry.running"].running.reset()


@pytest.fixture(autouse=True)
def _limits_count() -> None:
    """Count again at once where the test before had Redis fail."""
    from registry.limits import call_limits

    vars(call_limits)["_rests_until"] = 0.0


@pytest.fixture
def alice(db: None) -> User:
    """Owns things."""
    from tests import factories

    return factories.make_user("alice")


@pytest.fixture
def bob(db: None) -> User:
    """Is on Alice's team."""
    from tests import factories

    return factories.make_user("bob")


@pytest.fixture
def charlie(db: None) -> User:
    """Has no access to what is Alice's."""
    from tests import factories

    return factories.make_user("charlie")


@pytest.fixture
def governor(db: None) -> User:
    """Governs: a superuser."""
    from django.contrib.auth.models import User

    return User.objects.create_superuser("governor", password="secret-governor")


@pytest.fixture
def team(alice: User, bob: User) -> Group:
    """Alice's team, with Bob in it."""
    from tests import factories

    return factories.make_team("team", alice, bob)


@pytest.fixture
def client_for() -> Callable[[User], Client]:
    """Return a function that signs a person in and gives their client."""

    def sign_in(user: User) -> Client:
        client = Client()
        client.force_login(user)
        return client

    return sign_in
