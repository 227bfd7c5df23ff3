"""The product as a person starts it: in a folder of its own, apart from the test run's services."""

import os
import subprocess
import sys
from pathlib import Path

from config.embedded.places import PROJECT

PATIENCE = 600
"""Seconds that a command may take: the first makes a database, on a machine that may be busy."""

OURS = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "DJANGO_SETTINGS_MODULE", "SANDBOX_SOCKET")
OURS_TOO = ("OUTFITTER_ENCRYPTION_KEYS", "OUTFITTER_ADMIN_PASSWORD", "PORT", "HOST")


def environment(var: Path, **more: str) -> dict[str, str]:
    """Return an environment with nothing set but the folder `var`, and `more`."""
    kept = {name: value for name, value in os.environ.items() if name not in OURS + OURS_TOO}
    return {**kept, "OUTFITTER_VAR": str(var), "PYTHONPATH": str(PROJECT), **more}


def manage(
    var: Path, *arguments: str, cwd: Path | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a management command to its end and return what it printed."""
    return subprocess.run(
        [sys.executable, str(PROJECT / "manage.py"), *arguments],
        env=environment(var, **more),
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


def python(var: Path, program: str) -> str:
    """Run a Python program in the folder and return what it printed; it must succeed."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(var),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def processes_of(var: Path) -> set[int]:
    """Return the ids of the living processes that were started with this folder."""
    mark = b"OUTFITTER_VAR=" + os.fsencode(var)
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                found.add(int(folder.name))
        except OSError:
            continue
    return found - {os.getpid()}
