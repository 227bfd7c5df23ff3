"""Read what a sandbox asks of the proxy: where to, and what to send there.

A tunnel (`CONNECT host:port`) or one request for an absolute `http://` address. The request is
taken apart and written anew, so that what the tool hid in its head or body (a second `Host`, two
lengths, a second request) cannot mean one thing here and another thing there.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

import h11

from config.lib.addresses import HIGHEST_PORT, canonical_host

MAX_HEAD_BYTES = 32_768
CHUNK_BYTES = 65_536
HTTP_PORT = 80

# Of one connection only (RFC 9110, 7.6.1), or written anew here.
DROPPED = frozenset({b"connection", b"keep-alive", b"te", b"trailer", b"upgrade", b"host"})


class Refused(Exception):
    """The request is not carried out; `status` and the text are the answer to it."""

    def __init__(self, status: int, text: str) -> None:
        self.status = status
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class Target:
    """Where to: a host's one spelling, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def target_of(authority: str, default_port: int | None = None) -> Target:
    """Read `host:port`; raises `Refused` for anything else."""
    refused = Refused(HTTPStatus.BAD_REQUEST, "The request names no host and port.")
    try:
        parts = urlsplit(f"//{authority}")
        port = parts.port or default_port
    except ValueError:
        raise refused from None
    host = canonical_host(parts.hostname or "")
    if parts.netloc != authority or "@" in authority or not host or not port:
        raise refused
    if not 0 < port <= HIGHEST_PORT:
        raise refused
    return Target(host, port)


class Incoming:
    """One connection of the sandbox's, read as HTTP/1.1."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._parser = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._request: h11.Request | None = None

    async def target(self) -> Target:
        """Read the head; returns where the request goes. Raises `Refused`, `ConnectionError`."""
        event = await self._next()
        if not isinstance(event, h11.Request):
            raise ConnectionResetError
        self._request = event
        asked = event.target.decode("ascii")
        if self.is_tunnel:
            return target_of(asked)
        scheme, separator, rest = asked.partition("://")
        if scheme.lower() != "http" or not separator:
            text = "The proxy takes CONNECT, and requests for an absolute http:// address."
            raise Refused(HTTPStatus.BAD_REQUEST, text)
        return target_of(rest.partition("/")[0].partition("?")[0], HTTP_PORT)

    @property
    def is_tunnel(self) -> bool:
        """Say whether a tunnel is asked for, and not one plain request."""
        return self._request is not None and self._request.method == b"CONNECT"

    @property
    def early(self) -> bytes:
        """Return what came right behind the head of a request for a tunnel."""
        return self._parser.trailing_data[0]

    async def written_anew(self, target: Target) -> AsyncIterator[bytes]:
        """Yield the request as it is sent to the target, one part at a time."""
        assert self._request is not None  # noqa: S101 - `target` was called
        writer = h11.Connection(h11.CLIENT)
        yield writer.send(_head(self._request, target)) or b""
        while True:
            event = await self._next()
            if isinstance(event, h11.Data):
                yield writer.send(event) or b""
            elif isinstance(event, h11.EndOfMessage):
                yield writer.send(h11.EndOfMessage()) or b""
                return
            else:
                raise ConnectionResetError

    async def _next(self) -> h11.Event:
        while True:
            try:
                event = self._parser.next_event()
            except h11.RemoteProtocolError as error:
                raise Refused(error.error_status_hint, str(error)) from error
            if not isinstance(event, type):
                return event
            if event is h11.PAUSED:
                raise ConnectionResetError
            self._parser.receive_data(await self._reader.read(CHUNK_BYTES))


def _head(request: h11.Request, target: Target) -> h11.Request:
    _, _, rest = request.target.partition(b"://")
    cut = min((at for at in (rest.find(b"/"), rest.find(b"?")) if at >= 0), default=len(rest))
    path = rest[cut:].partition(b"#")[0]
    named = {
        name.strip().lower()
        for key, value in request.headers
        if key == b"connection"
        for name in value.split(b",")
    } - {b"content-length", b"transfer-encoding"}
    if any(name == b"transfer-encoding" for name, _ in request.headers):
        # It wins over a length (RFC 9112, 6.3); a server that saw both might think otherwise.
        named |= {b"content-length"}
    kept = [
        (bytes(name), bytes(value))
        for name, value in request.headers
        if name not in DROPPED | named and not name.startswith(b"proxy-")
    ]
    bare = str(target).removesuffix(":80") if target.port == HTTP_PORT else str(target)
    return h11.Request(
        method=request.method,
        target=path if path.startswith(b"/") else b"/" + path,
        headers=[(b"Host", bare.encode()), (b"Connection", b"close"), *kept],
    )
