"""The workshop's tools, for every test of sequences."""

import pytest

from tests.sequences import workshop


@pytest.fixture(autouse=True)
def _workshop(settings: pytest.FixtureRequest) -> None:
    settings.TOOL_EXECUTORS = {
        **settings.TOOL_EXECUTORS,
        "npm": "tests.sequences.workshop.WorkshopExecutor",
    }
    workshop.calls.clear()
