"""One long-running process: started, watched, started again when it dies, stopped."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from config.embedded.places import PROJECT
from config.embedded.processes import tethered

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0
"""Seconds before a service that died is started again; doubled each time it dies at once."""

STEADY_SECONDS = 60.0
"""A service that ran this long starts anew with the first pause."""

MANY_DEATHS = 5


@dataclass
class Service:
    """A process in the project's folder and a group of its own; it cannot outlive this one.

    Use it from the main thread. `account` is as in `tethered`, `stdout` as in `subprocess.Popen`
    (errors go there too); `keep_open` are descriptors that the process inherits. `report` is given
    one sentence per event, `started` the process each time there is a new one. `once` marks a job
    that is not repeated.
    """

    name: str
    command: list[str]
    report: Callable[[str], None]
    stop_signal: signal.Signals = signal.SIGTERM
    grace: float = 20.0
    account: str = "-"
    keep_open: tuple[int, ...] = ()
    stdout: int | None = None
    started: Callable[[subprocess.Popen[bytes]], None] | None = None
    once: bool = False
    process: subprocess.Popen[bytes] | None = None
    deaths: int = 0
    started_at: float = 0.0
    start_at: float = 0.0

    def start(self) -> None:
        """Start the process."""
        self.started_at = time.monotonic()
        self.process = subprocess.Popen(
            tethered(self.command, on_parent_death=self.stop_signal, account=self.account),
            stdin=subprocess.DEVNULL,
            stdout=self.stdout,
            stderr=None if self.stdout is None else subprocess.STDOUT,
            cwd=PROJECT,
            pass_fds=self.keep_open,
            process_group=0,
        )
        if self.started is not None:
            self.started(self.process)

    def watch(self) -> None:
        """Notice that the process has died; start it again when its pause is over."""
        if self.process is None:
            if self.start_at and time.monotonic() >= self.start_at:
                self.start()
            return
        status = self.process.poll()
        if status is not None:
            self._kill_group()
            self.process, self.start_at = None, 0.0
            self._after_death(status)

    def ask_to_stop(self) -> None:
        """Send the process its stop signal, and do not start it again."""
        self.start_at = 0.0
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(self.stop_signal)

    def await_stop(self) -> None:
        """Wait for the process to end; after its grace, end it and all it started by force."""
        if self.process is None:
            return
        try:
            self.process.wait(self.grace)
        except subprocess.TimeoutExpired:
            self.report(f"did not stop in {self.grace:g} s and is killed")
        self._kill_group()
        self.process.wait()
        self.process = None

    def _after_death(self, status: int) -> None:
        if self.once:
            self.report("done" if status == 0 else f"failed with {_described(status)}")
            return
        now = time.monotonic()
        self.deaths = 1 if now - self.started_at > STEADY_SECONDS else self.deaths + 1
        pause = min(FIRST_PAUSE * 2 ** (self.deaths - 1), LONGEST_PAUSE)
        self.start_at = now + pause
        again = f"ended with {_described(status)}; starting it again in {pause:g} s"
        if self.deaths >= MANY_DEATHS:
            again += f" (it has ended {self.deaths} times in a row: the lines above it say why)"
        self.report(again)

    def _kill_group(self) -> None:
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)


def stop_together(services: list[Service]) -> None:
    """Stop services side by side; return when all have ended."""
    for service in services:
        service.ask_to_stop()
    for service in services:
        service.await_stop()


def _described(status: int) -> str:
    """Say an exit status in words: `status 1`, `signal SIGKILL`."""
    return f"status {status}" if status >= 0 else f"signal {signal.Signals(-status).name}"
