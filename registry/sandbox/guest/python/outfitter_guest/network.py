"""Remembers which hosts the package tried to reach in vain, so that they can be named as data."""

import socket
from collections.abc import Callable
from typing import Any

DENIED: set[str] = set()
"""`host:port` of each connection that this call was refused."""

LOCAL = ("localhost", "127.0.0.1", "::1")


def watch_network(told: Callable[[str], None] = lambda _host: None) -> None:
    """Wrap what every library of the language goes through to reach a host.

    `told` gets each host that cannot be reached.
    """

    def remember(host: Any, port: Any) -> None:
        name = _named(host, port)
        if name and name not in DENIED:
            DENIED.add(name)
            told(name)

    resolve = socket.getaddrinfo
    connect = socket.create_connection

    def getaddrinfo(host: Any, port: Any, *rest: Any, **options: Any) -> Any:
        try:
            return resolve(host, port, *rest, **options)
        except OSError:
            remember(host, port)
            raise

    def create_connection(address: Any, *rest: Any, **options: Any) -> Any:
        try:
            return connect(address, *rest, **options)
        except OSError:
            remember(*address[:2])
            raise

    class Socket(socket.socket):
        """The socket class of this process."""

        def connect(self, address: Any) -> None:
            try:
                super().connect(address)
            except BlockingIOError:
                raise
            except OSError:
                if isinstance(address, tuple):
                    remember(*address[:2])
                raise

    socket.getaddrinfo = getaddrinfo
    socket.create_connection = create_connection
    socket.socket = Socket  # type: ignore[misc]


def _named(host: Any, port: Any) -> str:
    """Return `host:port`; empty where no host of elsewhere is meant."""
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host or "")
    if not name or name in LOCAL:
        return ""
    return f"{name[:253]}:{port}" if port else name[:253]
