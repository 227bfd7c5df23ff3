"""Read from the environment how much the service may use."""

import os
import sys
from dataclasses import dataclass

from registry.sandbox.service.memory import LEAST_MB, default_budget_mb
from registry.sandbox.service.pool import IDLE_SECONDS, MOST_SPARES


@dataclass(frozen=True, slots=True)
class Capacity:
    """What the service may use; `spares` is the most that are kept ready."""

    memory_mb: int
    spares: int
    spare_seconds: float


def capacity_of_operator() -> Capacity:
    """Return what `SANDBOX_MEMORY_MB`, `SANDBOX_SPARES` and `SANDBOX_SPARE_SECONDS` say.

    Raises `SystemExit` when one of them is not a number that makes sense.
    """
    return Capacity(
        memory_mb=_number("SANDBOX_MEMORY_MB", default_budget_mb(), least=LEAST_MB),
        spares=_number("SANDBOX_SPARES", MOST_SPARES, least=0),
        spare_seconds=_number("SANDBOX_SPARE_SECONDS", int(IDLE_SECONDS), least=1),
    )


def _number(name: str, default: int, *, least: int) -> int:
    given = os.environ.get(name, "").strip()
    if not given:
        return default
    if not given.isascii() or not given.isdigit() or int(given) < least:
        sys.exit(f"sandboxd: {name} must be a whole number, {least} or more; it is {given[:40]!r}.")
    return int(given)
