"""Read from the environment how much the service may use."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from registry.sandbox.service.memory import LEAST_MB, default_budget_mb
from registry.sandbox.service.pool import IDLE_SECONDS, MOST_SPARES


@dataclass(frozen=True, slots=True)
class Capacity:
    """What the service may use; `spares` is the most that are kept ready."""

    memory_mb: int
    spares: int
    spare_seconds: int


def capacity_of_operator(env: Mapping[str, str] = os.environ) -> Capacity:
    """Return what the operator's settings say.

    Raises `SystemExit` when one of them is not a number that makes sense.
    """
    memory, spares = env.get("SANDBOX_MEMORY_MB", ""), env.get("SANDBOX_SPARES", "")
    seconds = env.get("SANDBOX_SPARE_SECONDS", "")
    return Capacity(
        memory_mb=_number("SANDBOX_MEMORY_MB", memory, default_budget_mb(), least=LEAST_MB),
        spares=_number("SANDBOX_SPARES", spares, MOST_SPARES, least=0),
        spare_seconds=_number("SANDBOX_SPARE_SECONDS", seconds, int(IDLE_SECONDS), least=1),
    )


def _number(name: str, given: str, default: int, *, least: int) -> int:
    given = given.strip()
    if not given:
        return default
    if not given.isascii() or not given.isdigit() or int(given) < least:
        sys.exit(f"sandboxd: {name} must be a whole number, {least} or more; it is {given[:40]!r}.")
    return int(given)
