"""One HTTP request to the MCP server: whose it is, and where it came to."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from agents.mcp.endpoint import Endpoint, Found
from agents.mcp.splicing import Splice
from config.lib.changes import Change, changing

SCOPE_KEY = "outfitter.visit"
"""Where a request's ASGI scope has it."""


@dataclass(frozen=True, kw_only=True)
class Visit:
    """A request that was let in, and its answer.

    `found` is the tool that it names as `named`, where it does.
    """

    endpoint: Endpoint
    answer: Splice
    request_id: str
    path: str
    method: str = "POST"
    named: str = ""
    found: Found | None = None

    def changing(self) -> AbstractContextManager[Change]:
        """Tell what is written inside who asked for it, as for requests to Django."""
        user = self.endpoint.bearer.user
        actor = (user.pk, user.get_username())
        return changing(
            source="mcp",
            actor=lambda: actor,
            request_id=self.request_id,
            method=self.method,
            path=self.path,
        )


current_visit: ContextVar[Visit | None] = ContextVar("mcp_visit", default=None)
"""The visit that is served here; handlers have theirs by `visit_of`."""


def visit_of(ctx: Any) -> Visit:
    """Return the visit that a handler's request belongs to."""
    visit: Visit = ctx.request.scope[SCOPE_KEY]
    return visit


def schema_of_named(name: str) -> Mapping[str, Any] | None:
    """Return the input schema that the SDK holds a call's `Mcp-Param-*` headers against."""
    visit = current_visit.get()
    if visit is None or visit.found is None or visit.named != name or visit.found.missing:
        return None
    return visit.found.spec.input_schema
