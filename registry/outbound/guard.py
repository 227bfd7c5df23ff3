"""Decide, at the moment of dialling, which address a request goes to, if it may go at all."""

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import httpcore
import httpx
from django.conf import settings

from config.lib.addresses import Allowed, refusal_of
from config.lib.host_patterns import host_matches
from registry.errors import HostRefused

Resolve = Callable[[str, int], Sequence[str]]
"""Host and port → all of its addresses; raises OSError when the name is not known."""

DEFAULT_PORT = {"http": 80, "https": 443}
MOST_ADDRESSES = 32
"""Addresses of a name that are looked at; a name with more is refused."""


def system_resolve(host: str, port: int) -> list[str]:
    """Ask the machine's own resolver."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True, kw_only=True)
class Guard:
    """What outgoing requests may reach, and how much they may bring back.

    `hosts` are patterns as `config.lib.host_patterns` reads them; None leaves every host open, an
    empty tuple none. `allow` lifts addresses that are refused otherwise.
    """

    hosts: tuple[str, ...] | None = None
    max_bytes: int = 1_000_000
    allow: tuple[Allowed, ...] = field(default_factory=lambda: settings.OUTBOUND_ALLOW)
    resolve: Resolve = system_resolve

    def check_url(self, url: httpx.URL) -> None:
        """Raise HostRefused unless the address has a scheme, a host and a port to be asked."""
        if url.scheme not in DEFAULT_PORT:
            raise HostRefused(
                f"“{url.scheme or 'no scheme'}” is not a scheme that tools may use.",
                "Only http and https addresses can be asked.",
            )
        if not url.raw_host:
            raise HostRefused("The address names no host.", "Write https://host/path.")
        if url.userinfo:
            raise HostRefused(
                f"The address of {url.host} holds a user name or password.",
                "Take it out of the address; set it as the tool's sign-in instead.",
                host=url.host,
            )
        host, port = url.raw_host.decode("ascii"), url.port or DEFAULT_PORT[url.scheme]
        if self.hosts is not None and not any(host_matches(p, host, port) for p in self.hosts):
            raise HostRefused(
                f"This tool may not reach {host}:{port}: it is not among its allowed hosts.",
                f"Ask a reviewer to allow “{host}:{port}” for it.",
                host=host,
                port=port,
            )

    def addresses_of(self, host: str, port: int) -> list[str]:
        """Resolve once and return the addresses to dial; all of them must be allowed.

        Raises HostRefused, or `httpcore.ConnectError` when there is no such name.
        """
        try:
            found = list(self.resolve(host, port))
        except (OSError, UnicodeError):
            found = []
        if not found:
            raise httpcore.ConnectError(f"there is no host of the name {host}")
        if len(found) > MOST_ADDRESSES:
            raise self._refused(host, port, f"has more than {MOST_ADDRESSES} addresses")
        for address in found:
            if reason := refusal_of(address, port, self.allow):
                where = "" if host == address else f"resolves to {address}, which "
                raise self._refused(host, port, where + reason)
        return found

    def _refused(self, host: str, port: int, why: str) -> HostRefused:
        return HostRefused(
            f"The request was not sent: {host} {why}.",
            "Only public addresses are asked. An operator can allow others with OUTBOUND_ALLOW.",
            host=host,
            port=port,
        )
