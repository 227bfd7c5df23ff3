"""The whole product running, with a model that says what a test tells it to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.model_server import ModelServer, served
from tests.live import live, live_processes

__all__ = ["live", "live_processes"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.sandbox)


@pytest.fixture(scope="package", autouse=True)
def served_model() -> Iterator[ModelServer]:
    """Serve the scripted model; the product's processes are told of it when they start."""
    with served() as model, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_BASE", model.url)
        patch.setenv("OPENAI_API_KEY", "sk-provider-canary-5d1e0a77")
        yield model


@pytest.fixture
def model(served_model: ModelServer) -> ModelServer:
    """Give the scripted model, with an empty script."""
    served_model.requests.clear()
    served_model._script.clear()
    return served_model
