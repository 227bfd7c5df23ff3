"""`manage.py up`."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from config.embedded.places import PROJECT
from tests.config.own_folder import environment, manage, processes_of
from tests.live import eventually, free_port

START_SECONDS = 600
"""Far more than it takes: the first start makes every table, on a machine that may be busy."""
STOP_SECONDS = 300
"""The same of its end: each part may take what is left to it."""


@dataclass
class Up:
    """A running `manage.py up`."""

    var: Path
    port: int
    log: Path
    process: subprocess.Popen[bytes]

    @property
    def printed(self) -> str:
        return self.log.read_text(errors="replace")


def start(var: Path) -> Up:
    """Start the product in a folder; return when it can be opened."""
    port, log = free_port(), var.with_name("up.log")
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, str(PROJECT / "manage.py"), "up", "--no-seed"],
            env=environment(var, PORT=str(port)),
            cwd="/",
            stdout=output,
            stderr=output,
        )
    up = Up(var, port, log, process)
    eventually(lambda: "Ctrl-C stops it" in up.printed, seconds=START_SECONDS, what="the start")
    return up


def missing_parts(up: Up) -> list[str]:
    """Return the parts that `/readyz` says are not there."""
    told = httpx.get(f"http://127.0.0.1:{up.port}/readyz", timeout=60).json()
    return [check["name"] for check in told["checks"] if not check["ok"]]


@pytest.fixture
def var(tmp_path: Path) -> Iterator[Path]:
    """Return a folder for the product; whatever still runs from it is ended."""
    folder = tmp_path / "var"
    yield folder
    for pid in processes_of(folder):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    eventually(lambda: not processes_of(folder), what="the end of what `up` started")


def test_up_serves_twice_and_neither_sigterm_nor_sigkill_leaves_anything_behind(var: Path) -> None:
    up = start(var)
    assert httpx.get(f"http://127.0.0.1:{up.port}/healthz", timeout=60).status_code == 200
    assert f"open http://127.0.0.1:{up.port}" in up.printed
    assert len(re.findall("with the password", up.printed)) == 1
    again = manage(up.var, "up", PORT=str(free_port()))
    assert again.returncode == 1
    assert f"already runs from this folder: http://127.0.0.1:{up.port}" in again.stderr
    eventually(lambda: not missing_parts(up), seconds=START_SECONDS, what="every part")
    eventually(lambda: " beat " in up.printed, what="the health lines")
    up.process.send_signal(signal.SIGTERM)
    assert up.process.wait(STOP_SECONDS) == 0
    assert processes_of(var) == set()

    up = start(var)
    assert "No migrations to apply" in up.printed
    assert "with the password" not in up.printed
    up.process.kill()
    up.process.wait()
    eventually(lambda: not processes_of(var), what="the end of what `up` started")


def test_a_busy_port_is_named_with_a_free_one(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = manage(tmp_path, "up", PORT=str(port))
    assert done.returncode == 1
    assert f"Port {port} is in use" in done.stderr
    assert re.search(r"PORT=\d+ make run", done.stderr)
    assert not (tmp_path / "postgres").exists()
