"""A real npm registry, and the product's sandbox service with its client configured for it."""

import pytest

from tests.registry.sandbox.service import open_folder, running_service
from tests.registry.sync.registry import running_verdaccio


@pytest.fixture(scope="session")
def verdaccio(tmp_path_factory):
    """The registry; one for each test process, empty at first."""
    with running_verdaccio(tmp_path_factory.mktemp("verdaccio")) as registry:
        yield registry


@pytest.fixture(scope="session")
def npm_service(verdaccio):
    """A sandbox service that installs from the registry, and asks it."""
    with open_folder() as folder:
        # What is younger than a day is not installed otherwise.
        (folder / "npmrc").write_text(f"{verdaccio.npmrc.read_text()}min-release-age=0\n")
        settings = {"NPM_CONFIG_USERCONFIG": str(folder / "npmrc"), "NPM_CONFIG_REGISTRY": ""}
        with running_service(settings) as service:
            yield service


@pytest.fixture
def npm(verdaccio, npm_service, monkeypatch):
    """The registry, with the product asking it."""
    monkeypatch.setenv("SANDBOX_SOCKET", str(npm_service.folder / "sandboxd.sock"))
    return verdaccio
