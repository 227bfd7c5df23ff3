"""The whole product, running: web, worker and sandbox as processes on this run's test database.

A folder of tests takes the fixtures by importing them into its conftest; then the processes end
with that folder. All tests that use `live` must run in one xdist worker: mark them
`pytest.mark.xdist_group("live")` (with `--dist loadgroup`).
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction

START_SECONDS = 90


def eventually(look: Callable[[], Any], *, seconds: float = 30, what: str = "") -> Any:
    """Return what `look` gives once it is truthy; fail with what was last seen otherwise."""
    deadline = time.monotonic() + seconds
    while True:
        seen = look()
        if seen:
            return seen
        if time.monotonic() > deadline:
            pytest.fail(f"{what or look} did not happen in {seconds} s; last seen: {seen!r}")
        time.sleep(0.05)


def free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


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

    def stop(self) -> None:
        self.popen.terminate()
        try:
            self.popen.wait(15)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()


@dataclass
class Live:
    """Where the running product is, its processes by name, its content types' ids."""

    url: str
    processes: dict[str, Process]
    types: dict[tuple[str, str], int]

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


_PLACES = (("auth_permission", "content_type_id"), ("django_content_type", "id"))


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
        types = {(row.app_label, row.model): row.pk for row in ContentType.objects.all()}
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
    live = Live(f"http://127.0.0.1:{port}", processes, types)
    for process in processes.values():
        process.start()
    try:
        _wait_until_ready(live)
        yield live
    finally:
        for process in processes.values():
            process.stop()


def _wait_until_ready(live: Live) -> None:
    def ready() -> bool:
        for name, process in live.processes.items():
            if process.popen.poll() is not None:
                pytest.fail(f"{name} ended at once:\n{live.log(name)[-4000:]}")
        try:
            answered = httpx.get(f"{live.url}/healthz", timeout=5).status_code == 200
        except httpx.HTTPError:
            return False
        return answered and "ready." in live.log("worker")

    eventually(ready, seconds=START_SECONDS, what="the product's start")


@pytest.fixture
def live(live_processes: Live, transactional_db: None) -> Live:
    """Give the running product on an empty database."""
    _keep_types(live_processes.types)
    return live_processes


def _keep_types(types: dict[tuple[str, str], int]) -> None:
    """Give content types the ids that the running processes know them by.

    Between two tests the database is emptied and Django writes them anew, under other ids.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        for row in ContentType.objects.all():
            kept = -types[(row.app_label, row.model)]  # below zero first, where nobody stands
            for table, column in _PLACES:
                where = f"UPDATE {table} SET {column} = %s WHERE {column} = %s"  # noqa: S608
                cursor.execute(where, [kept, row.pk])
        for table, column in _PLACES:
            cursor.execute(f"UPDATE {table} SET {column} = -{column}")  # noqa: S608
    ContentType.objects.clear_cache()
