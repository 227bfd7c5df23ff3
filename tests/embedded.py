"""Start PostgreSQL and Redis once for a whole test run, and say what a test needs besides them.

A pytest plugin: hooks only. `tests.settings` chose the folder, which is removed at the end.
"""

import os
import shutil

import pytest

from config import embedded

NEEDS = {
    "browser": ("chromium", ("chromium", "chromium-browser", "google-chrome")),
    "sandbox": ("bubblewrap", ("bwrap",)),
}
"""Marker → the Debian package that its tests need, and the commands any one of which will do."""


def pytest_sessionstart(session: pytest.Session) -> None:
    """Start the services, in the process that was started by hand."""
    if starts_services(session.config):
        embedded.ensure(durable=False)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the services and remove their folder, once the workers have ended."""
    if starts_services(config):
        embedded.stop()
        shutil.rmtree(embedded.var_dir(), ignore_errors=True)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose program is missing, by name; in CI let it fail."""
    for marker, (package, commands) in NEEDS.items():
        if item.get_closest_marker(marker) is None or any(map(shutil.which, commands)):
            continue
        message = f"{package} is not installed (sudo apt-get install {package})"
        if os.environ.get("CI"):
            pytest.fail(message, pytrace=False)
        pytest.skip(message)


def starts_services(config: pytest.Config) -> bool:
    """Return whether this process answers for the services: it is no worker, and tests run."""
    is_worker = hasattr(config, "workerinput")
    has_own_folder = os.environ.get("DJANGO_SETTINGS_MODULE") == "tests.settings"
    return has_own_folder and not is_worker and not config.option.collectonly
