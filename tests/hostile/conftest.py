"""The attacked: a service of the test run's own, and a witness beside it."""

from collections.abc import Iterator

import pytest

from tests.hostile.witness import Witness, running_witness
from tests.registry.sandbox.service import RunningService


@pytest.fixture(scope="session")
def witness(sandbox_service: RunningService) -> Iterator[Witness]:
    """Somebody on the host who sees whether an attack got through."""
    with running_witness(sandbox_service) as witness:
        yield witness
