"""The workshop's tools, for every test of sequences."""

from collections.abc import Iterator

import pytest

from registry.executors.base import executor_for
from tests.sequences import workshop


@pytest.fixture(autouse=True)
def _workshop(settings: pytest.FixtureRequest) -> Iterator[None]:
    settings.TOOL_EXECUTORS = {
        **settings.TOOL_EXECUTORS,
        "npm": "tests.sequences.workshop.WorkshopExecutor",
    }
    executor_for.cache_clear()
    workshop.calls.clear()
    yield
    executor_for.cache_clear()
