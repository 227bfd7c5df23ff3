"""Commands that are tied to the process that starts them."""

import os
import signal
import sys
from pathlib import Path

TETHER = Path(__file__).with_name("tether.py")


def tethered(
    command: list[str], *, on_parent_death: signal.Signals = signal.SIGTERM, account: str = "-"
) -> list[str]:
    """Wrap `command` so that the kernel ends it when this process ends, even by SIGKILL.

    Start it from the main thread: the kernel watches the thread that forks.
    `account` is `-`, `guard` or `uid:gid:reach`, see `tether`.
    """
    return [
        *(sys.executable, "-I", "-S", str(TETHER)),
        *(str(os.getpid()), str(int(on_parent_death)), account),
        *command,
    ]
