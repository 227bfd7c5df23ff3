"""Where this server is, for those who come from outside and for itself."""

from typing import TYPE_CHECKING

from django.conf import settings
from django.http import HttpRequest

from agents.connecting.place import Place
from config.lib.errors import Conflict

if TYPE_CHECKING:
    from agents.connecting.trial import Target


def place_of(request: HttpRequest, slug: str = "") -> Place:
    """Return an address as clients reach it: on OUTFITTER_PUBLIC_URL, else as this request did."""
    site = settings.PUBLIC_URL or request.build_absolute_uri("/").rstrip("/")
    return Place(site=site, slug=slug)


def target_of(request: HttpRequest, place: Place) -> "Target":
    """Return the same address on the socket that took this request, past any proxy.

    The socket is the server's own; nothing of what the request says decides where a trial goes.
    Raises Conflict where the server listens on no port and has no public address either.
    """
    from agents.connecting.trial import Target

    host, port = str(request.META["SERVER_NAME"]), str(request.META["SERVER_PORT"])
    if port.isdigit() and port != "0":
        named = f"[{host}]" if ":" in host else host
        headers = {"Host": request.get_host(), "X-Forwarded-Proto": request.scheme or "http"}
        return Target(own=f"http://{named}:{port}{place.path}", headers=headers)
    if settings.PUBLIC_URL:
        return Target(own=place.url)
    raise Conflict(
        "This server does not know its own address.",
        "Set OUTFITTER_PUBLIC_URL, or let it listen on a port.",
    )
