"""One sandbox service for the whole test run, and packages that behave badly."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.sandbox.client import Artifact, Description, LocalSandbox
from tests.registry.sandbox.npm_registry import SCOPE, running_registry
from tests.registry.sandbox.service import RunningService, open_folder, running_service


@pytest.fixture(scope="session")
def npm_settings() -> Iterator[dict[str, str]]:
    """The operator's npm configuration, with the test scope at a registry of its own."""
    own = Path(os.environ.get("NPM_CONFIG_USERCONFIG") or Path.home() / ".npmrc")
    given = own.read_text() if own.exists() else ""
    with running_registry() as address, open_folder() as folder:
        npmrc = folder / "npmrc"
        npmrc.write_text(f"{given}\n{SCOPE}:registry={address}\n")
        yield {"NPM_CONFIG_USERCONFIG": str(npmrc)}


@pytest.fixture(scope="session")
def sandbox_service(npm_settings: dict[str, str]) -> Iterator[RunningService]:
    """The real service, as `make run` starts it, with a store of its own."""
    with running_service(npm_settings) as service:
        yield service


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
