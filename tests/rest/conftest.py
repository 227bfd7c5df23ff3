"""One of everything, behind the REST API."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import override_settings

from tests.rest.world import described, make_world


@pytest.fixture
def world(db: None) -> Iterator[dict[str, Any]]:
    """Give one of everything, and requests that stay in the transaction of the test."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    with override_settings(API_CALLS_PER_MINUTE=0):
        yield make_world()
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture(scope="session")
def product() -> Any:
    """Give the product as its document describes it; made once, by the process that asks."""
    return described()
