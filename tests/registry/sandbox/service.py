"""Start the real sandbox service for tests."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from registry.errors import SandboxUnavailable
from registry.sandbox.client import LocalSandbox
from registry.sandbox.paths import PROJECT

START_SECONDS = 30


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
    environment: Mapping[str, str], *, socket: str = "sandboxd.sock", ok: bool = True
) -> Iterator[RunningService]:
    """Start the service with a fresh store; wait until it answers (and is `ok`); stop it."""
    with open_folder() as folder:
        path = folder / socket
        command = [sys.executable, "-m", "registry.sandbox.service"]
        command += ["--socket", str(path), "--store", str(folder / "store")]
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
            assert process.wait(timeout=15) == 0, service.log


def _await_answer(service: RunningService, ok: bool) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and service.process.poll() is None:
        try:
            status = service.client.status()
        except SandboxUnavailable:
            time.sleep(0.05)
        else:
            assert status["ok"] is ok, status
            return
    raise AssertionError(f"The sandbox service did not start:\n{service.log}")
