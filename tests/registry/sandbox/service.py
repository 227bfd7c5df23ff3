"""Start the real sandbox service for tests."""

import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from registry.errors import SandboxUnavailable
from registry.sandbox.client import LocalSandbox
from registry.sandbox.paths import PROJECT
from registry.sandbox.service.__main__ import drop_root

Result = TypeVar("Result")

START_SECONDS = 120
END_SECONDS = 60
WORKER = b"/rt/worker.mjs"
PROGRAM = b"/rt/code/worker.py"
PYTHON_WORKER = b"/rt/python/worker.py"


@dataclass(frozen=True)
class RunningService:
    """A sandbox service of the test run's own."""

    client: LocalSandbox
    process: "subprocess.Popen[bytes]"
    folder: Path

    @property
    def log(self) -> str:
        """What the service has written so far."""
        return (self.folder / "log").read_text()


@contextmanager
def open_folder() -> Iterator[Path]:
    """Make a temporary folder that the sandbox's user can enter (pytest's own are closed)."""
    folder = Path(tempfile.mkdtemp(prefix="outfitter-sandbox-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running_service(
    environment: Mapping[str, str],
    *,
    socket: str = "sandboxd.sock",
    arguments: Sequence[str] = (),
    ok: bool = True,
    exit_code: int = 0,
) -> Iterator[RunningService]:
    """Start the service with a fresh store; wait until it answers (and is `ok`); stop it.

    `exit_code` is how it is expected to have ended.
    """
    with open_folder() as folder:
        path = folder / socket
        command = [sys.executable, "-m", "registry.sandbox.service"]
        command += ["--socket", str(path), "--store", str(folder / "store"), *arguments]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                command, cwd=PROJECT, env={**os.environ, **environment}, stdout=log, stderr=log
            )
        service = RunningService(LocalSandbox(path), process, folder)
        try:
            _await_answer(service, ok)
            yield service
        finally:
            process.terminate()
            assert process.wait(timeout=END_SECONDS) == exit_code, service.log


def workers(service: RunningService) -> list[Path]:
    """Return the `/proc` folders of a service's workers: those that have its store mounted.

    Spares that wait, which are stopped, are not among them.
    """
    return [folder for folder in _sandboxed(service) if not _paused(folder)]


def paused_workers(service: RunningService) -> list[Path]:
    """Return the `/proc` folders of a service's spares."""
    return [folder for folder in _sandboxed(service) if _paused(folder)]


def programs(service: RunningService) -> list[Path]:
    """Return the `/proc` folders of the interpreters that run programs, spares included."""
    return _sandboxed(service, PROGRAM)


def python_workers(service: RunningService) -> list[Path]:
    """Return the `/proc` folders of the workers of Python packages that do not wait as spares."""
    return [folder for folder in _sandboxed(service, PYTHON_WORKER) if not _paused(folder)]


def _sandboxed(service: RunningService, script: bytes = WORKER) -> list[Path]:
    store = str(service.folder).encode()
    return [
        folder
        for folder in Path("/proc").glob("[0-9]*")
        if script in _read(folder, "cmdline") and store in _read(folder, "mountinfo")
    ]


def _paused(folder: Path) -> bool:
    """Say whether a process is stopped, or waits for one that is."""
    if _read(folder, "stat").rpartition(b")")[2].startswith(b" T"):
        return True
    children = _read(folder, f"task/{folder.name}/children").split()
    return any(_paused(Path("/proc", os.fsdecode(child))) for child in children)


def seen_of_workers(service: RunningService) -> bytes:
    """Return what the process list shows of the workers: their commands and environments."""
    found = workers(service)
    return b"".join(_read(worker, name) for worker in found for name in ("cmdline", "environ"))


def _read(folder: Path, name: str) -> bytes:
    try:
        return (folder / name).read_bytes()
    except OSError:
        return b""


def becomes_true(condition: Callable[[], object], seconds: float = 30) -> bool:
    """Wait until the condition holds; returns whether it did in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def as_user(uid: int, function: Callable[..., Result], *arguments: object) -> Result:
    """Run a function in a process that has given up root for the user `uid`."""
    context = multiprocessing.get_context("fork")
    drop = (uid,) if os.geteuid() == 0 else (os.geteuid(),)
    with ProcessPoolExecutor(1, mp_context=context, initializer=_become, initargs=drop) as pool:
        return pool.submit(function, *arguments).result(timeout=300)


def _become(uid: int) -> None:
    if os.geteuid() == 0:
        drop_root(uid)


def _await_answer(service: RunningService, ok: bool) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and service.process.poll() is None:
        try:
            status = service.client.status()
        except SandboxUnavailable:
            time.sleep(0.05)
            continue
        # A slow machine tells of a self-test that is under way: neither well nor ill yet.
        if not any(check["name"] == "self-test" for check in status["checks"]):
            assert status["ok"] is ok, status
            return
    raise AssertionError(f"The sandbox service did not start:\n{service.log}")
