"""Look at the APIs of OpenAPI documents: the document again, and whether the servers answer.

No operation is ever called: a call may have effects.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

import httpx

from config.lib.errors import DomainError
from registry.errors import (
    HostRefused,
    ResponseTooLarge,
    ToolError,
    ToolTimeout,
    UpstreamError,
    UpstreamUnreachable,
)
from registry.importing.errors import NothingTold
from registry.importing.openapi_documents import document_at
from registry.importing.openapi_import import document_seen
from registry.models import Package, Tool
from registry.outbound import Guard, fetch
from registry.outbound.guard import DEFAULT_PORT
from registry.schemas import canonical_digest

PROBE_SECONDS = 10
MOST_SERVERS = 20
"""Servers of one document that are asked; tools at others are taken to be as they were."""


def openapi_check(package: Package, tools: Sequence[Tool]) -> Mapping[str, ToolError]:
    """Read the document again where it has an address, and ask each server for its root.

    A server that answers at all is well. Raises NothingTold where no server may be asked.
    """
    _read_again(package)
    roots = {tool.export_name: _root(tool) for tool in tools}
    servers = list(dict.fromkeys(root for root in roots.values() if root))[:MOST_SERVERS]
    told: dict[str, ToolError | None] = {}
    for server in servers:
        try:
            told[server] = _down(server, package.allowed_hosts)
        except HostRefused as error:
            refused = NothingTold(error.message, error.hint)
    if servers and not told:
        raise refused
    return {
        export: UpstreamUnreachable(down.message)
        for export, root in roots.items()
        if (down := told.get(root)) is not None
    }


def _read_again(package: Package) -> None:
    """Have a document that says something else reviewed; one that cannot be read says nothing."""
    url = package.settings.get("url")
    if not url:
        return
    try:
        content = document_at(url)
        if canonical_digest(content) != package.settings.get("digest"):
            document_seen(package, content)
    except DomainError:
        return  # what was approved does not need the document


def _root(tool: Tool) -> str:
    """Return the root of the server that a tool asks; "" where its arguments decide on it."""
    parts = urlsplit(str((tool.definition or {}).get("url", "")))
    if parts.scheme not in DEFAULT_PORT or not parts.hostname or "{" in parts.netloc:
        return ""
    return f"{parts.scheme}://{parts.netloc}/"


def _down(server: str, allowed: Sequence[str]) -> ToolError | None:
    """Return the error of a server that cannot be reached, or None; raise HostRefused."""
    request = httpx.Request("HEAD", server, headers={"User-Agent": "Outfitter"})
    own = {request.url.host, request.url.raw_host.decode("ascii")}
    try:
        fetch(request, seconds=PROBE_SECONDS, guard=Guard(hosts=tuple(allowed)))
    except HostRefused as error:
        if error.extra.get("host") in own:
            raise
        return None  # it answered, and points elsewhere
    except (UpstreamUnreachable, ToolTimeout) as error:
        return UpstreamUnreachable(error.message)
    except (UpstreamError, ResponseTooLarge):
        return None
    return None
