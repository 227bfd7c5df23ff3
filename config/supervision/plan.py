"""Which processes make up the product, and with what command each is started."""

import signal
import subprocess
import sys
from dataclasses import dataclass

from config.embedded import lease
from config.embedded.places import var_dir
from config.embedded.service import Service
from config.supervision.console import Console

WEB_GRACE = 4
"""Seconds that open event streams are given to end."""

WORKER_GRACE = 5
SOFT_SHUTDOWN = 3
"""Seconds that running tasks are given before the worker puts them back into the queue."""

PYTHON = [sys.executable, "-u"]


@dataclass(frozen=True)
class Listening:
    """The address that the web process listens on."""

    host: str
    port: int

    @property
    def reachable(self) -> str:
        """The host under which this machine reaches itself."""
        everywhere = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
        return everywhere.get(self.host, self.host)

    @property
    def url(self) -> str:
        """The address to open in a browser on this machine."""
        host = f"[{self.reachable}]" if ":" in self.reachable else self.reachable
        return f"http://{host}:{self.port}"


@dataclass(frozen=True)
class Plan:
    """The services, in the words of `up`: they start in this order."""

    sandbox: Service
    web: Service
    worker: Service
    beat: Service
    seed: Service

    @property
    def lasting(self) -> list[Service]:
        """Return the services that run until the end."""
        return [self.sandbox, self.web, self.worker, self.beat]

    @property
    def stop_order(self) -> list[list[Service]]:
        """Return what is stopped together, first to last: first what makes new work."""
        return [[self.seed, self.web, self.beat], [self.worker], [self.sandbox]]


def plan(console: Console, listening: Listening, *, concurrency: int) -> Plan:
    """Return the services of the product; nothing is started."""
    return Plan(
        sandbox=_sandbox(console),
        web=_service(console, "web", _web_command(listening), grace=WEB_GRACE),
        worker=_worker(console, concurrency),
        beat=_service(console, "beat", _beat_command(), grace=WEB_GRACE),
        seed=_service(console, "seed", [*PYTHON, "manage.py", "seed_demo"], grace=2, once=True),
    )


def _web_command(listening: Listening) -> list[str]:
    return [
        *(*PYTHON, "-m", "uvicorn", "config.asgi:application"),
        *("--host", listening.host, "--port", str(listening.port)),
        *("--timeout-graceful-shutdown", str(WEB_GRACE - 1), "--log-level", "warning"),
    ]


def _beat_command() -> list[str]:
    schedule = str(var_dir() / "beat-schedule")
    return [*PYTHON, "-m", "celery", "-q", "-A", "config", "beat", "-l", "warning", "-s", schedule]


def _worker(console: Console, concurrency: int) -> Service:
    command = [
        *(*PYTHON, "-m", "celery", "-q", "-A", "config", "worker", "-l", "info"),
        *("--concurrency", str(concurrency), "--without-gossip", "--without-mingle"),
        *("--", f"worker.soft_shutdown_timeout={SOFT_SHUTDOWN}"),
    ]
    # SIGQUIT is Celery's soft shutdown; at SIGTERM it would wait for the last task without limit.
    return _service(console, "worker", command, grace=WORKER_GRACE, stop_signal=signal.SIGQUIT)


def _sandbox(console: Console) -> Service:
    command = [*PYTHON, "-m", "registry.sandbox.service"]
    service = _service(console, "sandbox", command, grace=3)
    service.account = "guard"  # it gives up root
    service.keep_open = ()  # it needs no database, and must not hold one open
    return service


def _service(
    console: Console,
    name: str,
    command: list[str],
    *,
    grace: float,
    stop_signal: signal.Signals = signal.SIGTERM,
    once: bool = False,
) -> Service:
    return Service(
        name=name,
        command=command,
        report=lambda event: console.line(name, event),
        stop_signal=stop_signal,
        grace=grace,
        keep_open=lease.descriptors(),
        stdout=subprocess.PIPE,
        started=lambda process: console.follow(name, process),
        once=once,
    )
