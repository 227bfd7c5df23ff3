"""The resources that a token may be meant for (RFC 8707), and which of them opens what.

There are three kinds: the REST API (`/api/v1`, with all that is below), the MCP endpoint of all
tools (`/mcp`) and that of one agent (`/mcp/agents/<slug>`). None of them opens another.
"""

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

REST = "/api/v1"
MCP = "/mcp"
OF_AGENT = re.compile(r"/mcp/agents/([-a-zA-Z0-9_]{1,60})")
DEFAULT_PORTS = {"http": 80, "https": 443}


def canonical(address: str, origin: str = "") -> str | None:
    """Return a resource of ours as it is written on tokens; None for any other address.

    With an `origin` (`https://host`) it must be there. A slash at the end is overlooked.
    """
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    if parts.username is not None or parts.query or "#" in address or "?" in address:
        return None
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    at = "" if port in (None, DEFAULT_PORTS[parts.scheme]) else f":{port}"
    base = f"{parts.scheme}://{host}{at}"
    path = parts.path.removesuffix("/")
    if not (path in (REST, MCP) or OF_AGENT.fullmatch(path)) or origin not in ("", base):
        return None
    return base + path


def origin_at(scheme: str, host: str) -> str:
    """Return the origin of a request in the form that resources have; no default port."""
    name = host.lower().removesuffix(f":{DEFAULT_PORTS[scheme]}")
    return f"{scheme}://{name}"


def agent_of(address: str) -> str:
    """Return the slug of the agent whose endpoint a resource is; empty for the others."""
    found = OF_AGENT.fullmatch(urlsplit(address).path)
    return found[1] if found else ""


def default_audiences(origin: str, agent: str = "") -> list[str]:
    """Return what a token is meant for whose client named no resource.

    Clients of MCP 2025-03-26 and plain ones know no resource indicators: they get the REST API
    and the MCP endpoint that is theirs, which of an agent's own client is that agent's.
    """
    return [origin + REST, origin + (f"{MCP}/agents/{agent}" if agent else MCP)]


def opens(audiences: Iterable[str], resource: str) -> bool:
    """Say whether a token for these audiences is good at a resource.

    `resource` is one of ours as an address or, where the host is not known, as a path. Below
    `/api/v1` everything is opened by it; the other resources open themselves alone.
    """
    wanted = resource.removesuffix("/")
    if wanted.startswith("/"):
        held = {urlsplit(audience).path for audience in audiences}
        return wanted in held or (REST in held and wanted.startswith(f"{REST}/"))
    return (canonical(wanted) or wanted) in set(audiences)
