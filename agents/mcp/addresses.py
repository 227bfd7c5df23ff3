"""Every address below `/mcp`, those that a client has got slightly wrong, too."""

import re
from io import BytesIO
from typing import NoReturn
from urllib.parse import quote

from django.core.handlers.asgi import ASGIRequest
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from agents.mcp.app import refuse
from config.lib.errors import DomainError, NotFound

_WITH_SLASH = re.compile(r"/mcp(/agents/[^/]+)?/")


class Moved(DomainError):
    """This address has no slash at its end."""

    code = "moved"
    status = 308

    @property
    def headers(self) -> dict[str, str]:
        """Return where a client asks again, in the same way and with the same message."""
        return {"Location": str(self.extra["location"])}


class Elsewhere:
    """Answers what no address of the server is: people by a page, programs as MCP has errors."""

    def __init__(self, pages: ASGIApp) -> None:
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = ASGIRequest(scope, BytesIO())
        try:
            if _WITH_SLASH.fullmatch(scope["path"]):
                _without_slash(scope)
            if "text/html" in request.headers.get("Accept", ""):
                await self._pages(scope, receive, send)
                return
            raise NotFound(
                "There is no such address.", "MCP is spoken at /mcp and at /mcp/agents/<slug>."
            )
        except DomainError as error:
            await refuse(error, request, send)


def mcp_routes(endpoint: ASGIApp, elsewhere: ASGIApp) -> list[Route]:
    """Return the routes of the MCP server, which is at `endpoint`, and of all else below it."""
    return [
        Route("/mcp", endpoint),
        Route("/mcp/agents/{slug}", endpoint),
        Route("/mcp/{rest:path}", elsewhere),
    ]


def _without_slash(scope: Scope) -> NoReturn:
    query = scope["query_string"].decode("latin-1")
    location = quote(scope["path"][:-1]) + (f"?{query}" if query else "")
    raise Moved("This address has no slash at its end.", f"Ask at {location}.", location=location)
