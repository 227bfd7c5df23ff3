"""The table of a run, and the service that starts a process for each call."""

from __future__ import annotations

import pytest

from tests.benchmarks.measure import report
from tests.registry.sandbox.service import running_service


@pytest.fixture(scope="session", autouse=True)
def _table():
    yield
    report()


@pytest.fixture(scope="session")
def without_spares(npm_settings, python_tools):
    """A sandbox service that starts a process for each call."""
    settings = {**npm_settings, "PYTHON_TOOLS_DIR": str(python_tools), "SANDBOX_SPARES": "0"}
    with running_service(settings) as service:
        yield service
