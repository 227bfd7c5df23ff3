"""The workshop's tools, for every test of sequences; and a queue that is gone."""

from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery
from django.conf import LazySettings

from config.celery import app
from tests.sequences import workshop


@pytest.fixture(autouse=True)
def _workshop(settings: Any) -> None:
    settings.TOOL_EXECUTORS = {
        **settings.TOOL_EXECUTORS,
        "npm": "tests.sequences.workshop.WorkshopExecutor",
    }
    workshop.calls.clear()


@pytest.fixture
def unreachable_queue(settings: LazySettings) -> Iterator[None]:
    """Send to a port where nobody listens, with the product's patience."""
    gone = Celery("unreachable", broker="redis://127.0.0.1:1/0", set_as_current=True)
    gone.conf.broker_transport_options = settings.CELERY_BROKER_TRANSPORT_OPTIONS
    yield
    app.set_current()
