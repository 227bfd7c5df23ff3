"""Which web pages may call the MCP server: a browser says where a page comes from."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest
from django.utils.http import is_same_domain
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

ANY = "*"

READ_BY_PAGES = ("Mcp-Session-Id", "WWW-Authenticate", "X-Request-ID", "Retry-After")
"""Headers of answers that pages may read."""


def is_allowed_origin(request: HttpRequest) -> bool:
    """Say whether a request may come from the page that its `Origin` names.

    Pages of this very server may, and those of MCP_ORIGINS and CSRF_TRUSTED_ORIGINS. A name that
    was made to lead here (DNS rebinding) is none of them.
    """
    origin = request.headers.get("Origin")
    if origin is None:
        return True
    if origin == f"{request.scheme}://{request.get_host()}" or ANY in settings.MCP_ORIGINS:
        return True
    if origin in (*settings.MCP_ORIGINS, *settings.CSRF_TRUSTED_ORIGINS):
        return True
    parts = urlsplit(origin)
    patterns = [urlsplit(each) for each in settings.CSRF_TRUSTED_ORIGINS if "*" in each]
    return any(
        parts.scheme == each.scheme and is_same_domain(parts.netloc, each.netloc.lstrip("*"))
        for each in patterns
    )


def with_cors(app: ASGIApp, origins: Sequence[str]) -> ASGIApp:
    """Return the application as pages of these origins may use it, with tokens and no cookies."""
    if not origins:
        return app
    return CORSMiddleware(
        app,
        allow_origins=list(origins),
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["*"],
        expose_headers=READ_BY_PAGES,
    )
