"""The whole product, running: web, worker and sandbox as processes on this run's test database.

A folder of tests takes the fixtures by importing them into its conftest; then the processes end
with that folder. Each xdist worker has processes and a database of its own; a small file is marked
`pytest.mark.xdist_group("live")` so that only one worker starts them. The browser's are many and
run in both.
"""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection

START_SECONDS = 300
"""Far more than it takes, on a machine that may be busy."""

MOST_WORKERS = 8
"""Parallel workers of pytest that have ports of their own, which no other of them probes."""


def eventually(look: Callable[[], Any], *, seconds: float = 60, what: str = "") -> Any:
    """Return what `look` gives once it is truthy; fail with what was last seen otherwise."""
    deadline = time.monotonic() + seconds
    while True:
        seen = look()
        if seen:
            return seen
        if time.monotonic() > deadline:
            pytest.fail(f"{what or look} did not happen in {seconds} s; last seen: {seen!r}")
        time.sleep(0.05)


def waits_for_lock() -> bool:
    """Return whether another connection waits for what this one holds."""
    with connection.cursor() as cursor:
        # not pg_stat_activity, which a transaction sees as it was at its first look
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_locks"
            " WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid)))"
        )
        return bool(cursor.fetchone()[0])


_place = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % MOST_WORKERS
_own = range(10_000 + _place, 30_000, MOST_WORKERS)
_ports = cycle(random.sample(_own, len(_own)))


def free_port() -> int:
    """Return a port that nobody listens on now, nor will before a process that is told of it does.

    It is below those that the system hands out, and is not given again soon.
    """
    for port in _ports:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


@dataclass
class Process:
    """A process of the product and its log."""

    name: str
    command: list[str]
    env: dict[str, str]
    log: Path
    popen: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> None:
        with self.log.open("ab") as output:
            self.popen = subprocess.Popen(
                self.command, env=self.env, stdout=output, stderr=subprocess.STDOUT
            )

    def lives(self) -> bool:
        """Return True, or fail with the last words of a process that ended by itself."""
        if self.popen.poll() is not None:
            words = self.log.read_text(errors="replace")[-4000:]
            pytest.fail(f"{self.name} ended at once:\n{words}")
        return True

    def stop(self) -> None:
        self.popen.terminate()
        try:
            self.popen.wait(15)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()


@dataclass
class Live:
    """Where the running product is, its processes by name."""

    url: str
    processes: dict[str, Process]

    def log(self, name: str) -> str:
        """Return what a process has said so far."""
        return self.processes[name].log.read_text(errors="replace")


def environment() -> dict[str, str]:
    """Return the environment of a process that works on this test's database."""
    database = connection.settings_dict
    host = str(database["HOST"]).replace("/", "%2F")
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": f"postgresql://{database['USER']}@{host}/{database['NAME']}",
        "REDIS_URL": settings.REDIS_URL,
        "SECRET_KEY": settings.SECRET_KEY,
        "OUTFITTER_ENCRYPTION_KEYS": ",".join(settings.ENCRYPTION_KEYS),
        "OUTBOUND_ALLOW": "127.0.0.1",  # the servers that tests put up
        "PYTHONUNBUFFERED": "1",
    }


@pytest.fixture(scope="package")
def live_processes(
    django_db_setup: None,
    django_db_blocker: Any,
    sandbox_service: Any,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Live]:
    """Start the processes; they end with the folder, or the worker would take others' runs."""
    folder = tmp_path_factory.mktemp("live")
    with django_db_blocker.unblock():
        env = environment()
        call_command("flush", interactive=False, verbosity=0)  # fixes the ids of content types
        connection.close()
    port = free_port()
    python = [sys.executable, "-m"]
    subprocess.run(
        [sys.executable, "manage.py", "collectstatic", "--noinput", "-v0"], env=env, check=True
    )
    commands = {
        "web": [*python, "uvicorn", "config.asgi:application", "--port", str(port)],
        "worker": [*python, "celery", "-A", "config", "worker", "-c", "2", "-l", "info"],
    }
    processes = {
        name: Process(name, command, env, folder / f"{name}.log")
        for name, command in commands.items()
    }
    live = Live(f"http://127.0.0.1:{port}", processes)
    for process in processes.values():
        process.start()
    try:
        _wait_until_ready(live)
        yield live
    finally:
        for process in processes.values():
            process.stop()


def answers(url: str) -> bool:
    """Return whether a web process is there and well."""
    try:
        return httpx.get(f"{url}/healthz", timeout=30).status_code == 200
    except httpx.HTTPError:
        return False


def _wait_until_ready(live: Live) -> None:
    def ready() -> bool:
        alive = [process.lives() for process in live.processes.values()]
        return all(alive) and answers(live.url) and "ready." in live.log("worker")

    eventually(ready, seconds=START_SECONDS, what="the product's start")


@pytest.fixture
def live(live_processes: Live, transactional_db: None) -> Live:
    """Give the running product on an empty database."""
    return live_processes
