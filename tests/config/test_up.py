"""`manage.py up`."""

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from config.embedded.places import PROJECT
from tests.config.own_folder import environment, manage, processes_of
from tests.live import eventually, free_port

START_SECONDS = 120
STOP_SECONDS = 30


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


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    var, port, log = tmp_path / "var", free_port(), tmp_path / "up.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, str(PROJECT / "manage.py"), "up", "--no-seed"],
            env=environment(var, PORT=str(port)),
            cwd="/",
            stdout=output,
            stderr=output,
        )
    yield Up(var, port, log, process)
    process.kill()
    process.wait()
    eventually(lambda: not processes_of(var), what="the end of what `up` started")


def test_up_serves_and_sigterm_leaves_nothing_behind(up: Up) -> None:
    eventually(lambda: "Ctrl-C stops it" in up.printed, seconds=START_SECONDS, what="the start")
    assert httpx.get(f"http://127.0.0.1:{up.port}/healthz").status_code == 200
    assert f"open http://127.0.0.1:{up.port}" in up.printed
    assert len(re.findall("with the password", up.printed)) == 1
    again = manage(up.var, "up", PORT=str(free_port()))
    assert again.returncode == 1
    assert f"already runs from this folder: http://127.0.0.1:{up.port}" in again.stderr
    up.process.send_signal(signal.SIGTERM)
    assert up.process.wait(STOP_SECONDS) == 0
    assert processes_of(up.var) == set()


def test_killing_up_ends_everything_it_started(up: Up) -> None:
    eventually(lambda: "Ctrl-C stops it" in up.printed, seconds=START_SECONDS, what="the start")
    up.process.kill()
    eventually(lambda: not processes_of(up.var), what="the end of what `up` started")


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
