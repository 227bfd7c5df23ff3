"""Which internet addresses may be dialled for a tool.

Only global unicast addresses may: whatever leads to this machine, its network, a cloud's metadata
service or, by way of a translator, back to any of them is refused, unless the operator's list
lifts it. Check the address that is dialled, after the name was resolved; never a name.
"""

import ipaddress
import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import NamedTuple

Address = IPv4Address | IPv6Address

HIGHEST_PORT = 65_535
LONGEST_NAME = 253
DEFAULT_PORTS = frozenset({80, 443})
"""The ports that a pattern without a port stands for."""

_REFUSED = {
    "0.0.0.0/8": "means this machine",
    "10.0.0.0/8": "is private",
    "100.64.0.0/10": "belongs to a carrier's network",
    "127.0.0.0/8": "is this machine",
    "168.63.129.16/32": "is a cloud's metadata service",
    "169.254.169.254/32": "is a cloud's metadata service",
    "169.254.0.0/16": "is link-local",
    "172.16.0.0/12": "is private",
    "192.0.0.0/24": "is reserved",
    "192.0.2.0/24": "is for documentation only",
    "192.88.99.0/24": "leads through a 6to4 relay",
    "192.168.0.0/16": "is private",
    "198.18.0.0/15": "is for benchmarks only",
    "198.51.100.0/24": "is for documentation only",
    "203.0.113.0/24": "is for documentation only",
    "224.0.0.0/4": "is a multicast address",
    "240.0.0.0/4": "is reserved",
    "::/128": "means this machine",
    "::1/128": "is this machine",
    "::/96": "stands for an IPv4 address",
    "::ffff:0:0/96": "stands for an IPv4 address",
    "::ffff:0:0:0/96": "stands for an IPv4 address",
    "64:ff9b::/96": "stands for an IPv4 address",
    "64:ff9b:1::/48": "stands for an IPv4 address",
    "2001::/32": "leads through a Teredo tunnel",
    "2001::/23": "is reserved",
    "2001:db8::/32": "is for documentation only",
    "2002::/16": "leads through a 6to4 tunnel",
    "3fff::/20": "is for documentation only",
    "fd00:ec2::254/128": "is a cloud's metadata service",
    "fc00::/7": "is private",
    "fe80::/10": "is link-local",
    "fec0::/10": "is private",
    "ff00::/8": "is a multicast address",
}
_REASONS = [(ipaddress.ip_network(network), reason) for network, reason in _REFUSED.items()]
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_GLOBAL_V6 = IPv6Network("2000::/3")
_ISATAP = (0x00005EFE, 0x02005EFE)
"""The upper half of an interface identifier that carries an IPv4 address in its lower half."""


class Allowed(NamedTuple):
    """A network that the operator allows; `port` of None stands for every port."""

    network: IPv4Network | IPv6Network
    port: int | None = None


def address_allowed(address: str, port: int, allow: Sequence[Allowed]) -> bool:
    """Tell whether a resolved address may be dialled at `port`."""
    return refusal_of(address, port, allow) is None


def refusal_of(address: str, port: int, allow: Sequence[Allowed]) -> str | None:
    """Return why an address may not be dialled, in words that follow it; None when it may.

    An address in any form but the usual one (decimal, octal, with a zone) is refused.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "is not an address"
    if not 0 < port <= HIGHEST_PORT:
        return f"has no port {port}"
    if getattr(parsed, "scope_id", None):
        return "is of one network interface only"
    if any(_lifts(entry, parsed, port) for entry in allow):
        return None
    return _reason(parsed)


def parse_allowed(text: str) -> tuple[Allowed, ...]:
    """Read a comma-separated list of networks (`10.0.0.0/8`), addresses, and addresses with a
    port (`127.0.0.1:8080`, `[::1]:8080`). Raises ValueError that names the first wrong entry.
    """
    return tuple(_entry(part.strip()) for part in text.split(",") if part.strip())


def canonical_host(host: str) -> str:
    """Return a host's one spelling: lower case, ASCII, no dot at the end, no brackets; "" when
    it is not the name of a host."""
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        pass
    try:
        name = bare.encode("idna").decode("ascii").lower().removesuffix(".")
    except UnicodeError:
        return ""
    fits = name and len(name) <= LONGEST_NAME and not name.startswith(".") and ".." not in name
    return name if fits and all(_fits_name(char) for char in name) else ""


def _fits_name(char: str) -> bool:
    return char.isalnum() or char in "-._"


def _lifts(entry: Allowed, address: Address, port: int) -> bool:
    return entry.port in (None, port) and address in entry.network


def _reason(address: Address) -> str | None:
    for network, reason in _REASONS:
        if address in network:
            return reason
    if isinstance(address, IPv6Address):
        if address not in _GLOBAL_V6:
            return "is reserved"
        if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
            return "stands for an IPv4 address"
    return None if address.is_global and not address.is_multicast else "is reserved"


def _entry(text: str) -> Allowed:
    try:
        return Allowed(ipaddress.ip_network(text))
    except ValueError:
        host, port = _split_port(text)
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        port = None
    if not port:
        raise ValueError(f"“{text}” is no network (10.0.0.0/8) and no address with a port.")
    return Allowed(ipaddress.ip_network(address), port)


def _split_port(text: str) -> tuple[str, int | None]:
    """Return the host and the port; None where there is none, or it is not a port."""
    host, _, digits = text.rpartition(":")
    if not _PORT.fullmatch(digits) or int(digits) > HIGHEST_PORT:
        return host, None
    return host, int(digits)
