"""Wait for what is made ready before a call."""

from __future__ import annotations

import time
from collections.abc import Callable

from registry.sandbox.client import LocalSandbox
from tests.registry.sandbox.service import becomes_true

AT_REST = 0.1
"""Seconds after which a spare that is there has come to rest."""


def at_rest(client: LocalSandbox, artifact: str) -> Callable[[], None]:
    """Return what waits until a call would find a spare of its own, and nothing else goes on."""

    def is_ready() -> bool:
        return any(
            line["artifact"] == artifact and line["spares"] for line in client.status()["lines"]
        )

    def wait() -> None:
        assert becomes_true(is_ready)
        time.sleep(AT_REST)

    return wait
