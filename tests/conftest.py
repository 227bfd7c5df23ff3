"""What every test has: the services it runs on, and the people in it."""

import gc

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.embedded", "tests.fixtures", "tests.sandboxed"]

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# Collecting makes a million objects that stay: looking through them for garbage, then and behind
# every few tests, takes a third of the time of both.
gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Look for garbage from now on, among what the tests make."""
    gc.freeze()
    gc.enable()
