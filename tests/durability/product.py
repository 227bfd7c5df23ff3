"""Workers of our own on servers of our own, which may be killed without harm to other tests.

What uses this runs as a process by itself, with `environment(folder)`: its PostgreSQL is durable,
unlike that of the tests.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.durability import FILE

CELERY = [sys.executable, "-m", "celery", "-q", "-A", "config"]


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a product that lives in `folder`."""
    theirs = {"DATABASE_URL", "REDIS_URL"}
    return {
        **{name: value for name, value in os.environ.items() if name not in theirs},
        "OUTFITTER_VAR": str(folder),
        "DJANGO_SETTINGS_MODULE": "tests.durability.settings",
        "PYTHONUNBUFFERED": "1",
        FILE: str(folder / "calls"),
    }


def begin() -> None:
    """Set Django up, and make the database of this product."""
    import django

    from config import embedded

    embedded.ensure()
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


@dataclass
class Worker:
    """A Celery worker with two pool processes."""

    name: str
    folder: Path
    popen: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> None:
        command = [*CELERY, "worker", "-c", "2", "-n", f"{self.name}@test", "-l", "info"]
        with (self.folder / f"{self.name}.log").open("ab") as log:
            self.popen = subprocess.Popen(
                [*command, "--without-gossip", "--without-mingle"],
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def log(self) -> str:
        """Return what it has said so far."""
        return (self.folder / f"{self.name}.log").read_text(errors="replace")

    def pool(self) -> list[int]:
        """Return the ids of its pool processes."""
        children = Path(f"/proc/{self.popen.pid}/task/{self.popen.pid}/children")
        try:
            return [int(pid) for pid in children.read_text().split()]
        except (FileNotFoundError, ProcessLookupError):  # it ended before, or meanwhile
            return []

    def kill(self) -> None:
        """Kill it outright; what its pool was doing goes on for a moment, with nobody's leave."""
        self.popen.kill()
        self.popen.wait()

    def kill_whole(self) -> None:
        """Kill it and its pool, as a machine that loses its power does."""
        pool = self.pool()
        self.popen.kill()
        for pid in pool:
            kill(pid)
        self.popen.wait()

    def stop(self, seconds: float = 20) -> None:
        """Let it hand over what it has, and end."""
        self.popen.send_signal(signal.SIGTERM)
        try:
            self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill_whole()


def beat(folder: Path) -> subprocess.Popen[bytes]:
    """Start Celery's beat."""
    command = [*CELERY, "beat", "-l", "warning", "-s", str(folder / "schedule")]
    with (folder / "beat.log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)


def kill(pid: int) -> None:
    """Kill a process that may be gone already."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def until(look: Callable[[], Any], seconds: float) -> bool:
    """Say whether `look` became true within so many seconds; a database may be away meanwhile."""
    from django.db import DatabaseError, connection

    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        try:
            if look():
                return True
        except DatabaseError:
            connection.close()
        time.sleep(0.1)
    return False
