"""Read a host that a tool may reach, as a person writes it: `host`, `host:port` or `*.host`."""

import ipaddress
import re
from dataclasses import dataclass

from config.lib.addresses import DEFAULT_PORTS, HIGHEST_PORT, canonical_host

LONGEST_PATTERN = 260
_PARTS = re.compile(
    r"(?P<below>\*\.)?(?P<host>\[[^\]]+\]|[^:\[\]/?#@\s]+)(?::(?P<port>[0-9]{1,5}))?"
)
# What C libraries read as an IPv4 address in a notation of long ago: 2130706433, 127.1, 0x7f.1.
_OLD_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]*|[0-9]+)")


@dataclass(frozen=True, slots=True)
class HostPattern:
    """Names hosts: one, or with `below` all those below it; without a port, at 80 and 443."""

    host: str
    below: bool = False
    port: int | None = None

    def __str__(self) -> str:
        port = f":{self.port}" if self.port else ""
        return f"{self.dialled}{port}"

    @property
    def dialled(self) -> str:
        """Return the host as it stands in an address: IPv6 in brackets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"*.{host}" if self.below else host

    @property
    def with_ports(self) -> tuple[str, ...]:
        """Return `host:port` for each port it stands for."""
        ports = (self.port,) if self.port else sorted(DEFAULT_PORTS)
        return tuple(f"{self.dialled}:{port}" for port in ports)

    def matches(self, host: str, port: int) -> bool:
        """Tell whether a host is one of those named.

        Upper and lower case, a dot at the end, and the two ways of writing an international name
        make no difference.
        """
        if port not in ((self.port,) if self.port else DEFAULT_PORTS):
            return False
        asked = canonical_host(host)
        if self.below:
            return asked.endswith(f".{self.host}") and not _is_plain_address(asked)
        return asked == self.host


def host_matches(pattern: str, host: str, port: int) -> bool:
    """Tell whether `host`, at `port`, is one that `pattern` names; a wrong pattern names none."""
    try:
        return parse_host_pattern(pattern).matches(host, port)
    except ValueError:
        return False


def parse_host_pattern(text: str) -> HostPattern:
    """Read one pattern, in its one spelling; raises ValueError that says what is wrong with it."""
    found = _PARTS.fullmatch(text.strip()) if len(text) <= LONGEST_PATTERN else None
    if text.strip() in {"*", "*.*"}:
        raise ValueError("“*” stands for the whole network: name the hosts.")
    if found is None:
        raise ValueError(f"“{text[:80]}” is not host, host:port or *.host.")
    host, below = canonical_host(found["host"]), bool(found["below"])
    last = host.rpartition(".")[2]
    is_address = ":" in host or _OLD_NUMBER.fullmatch(last) is not None
    if not host or "*" in host:
        raise ValueError(f"“{text[:80]}” is not the name of a host.")
    if is_address and not _is_plain_address(host):
        raise ValueError(f"“{text[:80]}” is not an address in its usual form.")
    if below and (is_address or "." not in host):
        raise ValueError(f"“{text[:80]}” names too much: write *.example.com.")
    port = int(found["port"]) if found["port"] else None
    if port is not None and not 0 < port <= HIGHEST_PORT:
        raise ValueError(f"“{text[:80]}” has no port between 1 and {HIGHEST_PORT}.")
    return HostPattern(host, below, port)


def _is_plain_address(host: str) -> bool:
    try:
        return str(ipaddress.ip_address(host)) == host
    except ValueError:
        return False
