"""One sandbox service for the whole test run; a pytest plugin."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.registry.sandbox.service import RunningService


@pytest.fixture(scope="session")
def npm_settings() -> Iterator[dict[str, str]]:
    """The operator's npm configuration, with the test scope at a registry of its own."""
    own = Path(os.environ.get("NPM_CONFIG_USERCONFIG") or Path.home() / ".npmrc")
    given = own.read_text() if own.exists() else ""
    from tests.registry.sandbox.npm_registry import SCOPE, running_registry
    from tests.registry.sandbox.service import open_folder

    with running_registry() as address, open_folder() as folder:
        npmrc = folder / "npmrc"
        npmrc.write_text(f"{given}\n{SCOPE}:registry={address}\n")
        yield {"NPM_CONFIG_USERCONFIG": str(npmrc)}


@pytest.fixture(scope="session")
def python_tools() -> Iterator[Path]:
    """The operator's folder of Python modules, where the sandbox's user can read it."""
    from tests.registry.sandbox.service import open_folder

    with open_folder() as folder:
        source = Path(__file__).parent / "registry" / "sandbox" / "python_tools"
        shutil.copytree(source, folder / "tools", ignore=shutil.ignore_patterns("__pycache__"))
        yield folder / "tools"


@pytest.fixture(scope="session")
def sandbox_service(npm_settings: dict[str, str], python_tools: Path) -> Iterator[RunningService]:
    """The real service, as `make run` starts it, with a store of its own."""
    from tests.registry.sandbox.service import running_service

    settings = {**npm_settings, "PYTHON_TOOLS_DIR": str(python_tools)}
    with running_service(settings) as service, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SANDBOX_SOCKET", str(service.folder / "sandboxd.sock"))
        yield service
