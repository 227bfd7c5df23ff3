"""Packages that behave badly, built once."""

import pytest

from registry.sandbox.client import Artifact, Description, LocalSandbox
from tests.registry.sandbox.npm_registry import SCOPE
from tests.registry.sandbox.service import RunningService


@pytest.fixture
def sandbox(sandbox_service: RunningService) -> LocalSandbox:
    """A client of the service."""
    return sandbox_service.client


@pytest.fixture(scope="session")
def hostile(sandbox_service: RunningService) -> Artifact:
    """The built package of tools that misbehave."""
    return sandbox_service.client.build(ecosystem="npm", name=f"{SCOPE}/hostile")


@pytest.fixture(scope="session")
def shapes(sandbox_service: RunningService) -> Artifact:
    """The built package that exports tools in every way there is."""
    return sandbox_service.client.build(ecosystem="npm", name=f"{SCOPE}/shapes")


@pytest.fixture(scope="session")
def shapes_description(sandbox_service: RunningService, shapes: Artifact) -> Description:
    """What the service says of `shapes`."""
    return sandbox_service.client.describe(artifact=shapes.artifact)
