"""HTTP to a remote server: the guarded transport, under the client library that the SDK uses.

The SDK speaks `httpx2`, the guard is an `httpx` transport; here one is put under the other.
"""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

import httpx
import httpx2

from config.lib.addresses import canonical_host
from config.lib.host_patterns import HostPattern
from registry.errors import (
    ToolError,
    UpstreamAuth,
    UpstreamError,
    UpstreamRateLimited,
    UpstreamUnreachable,
)
from registry.mcp.settings import HttpServer
from registry.outbound import Guard, guarded_transport

LARGEST_ANSWER = 8 << 20
"""Bytes of one answer, or of all events of one stream."""

CONNECT_SECONDS = 20.0
READ_SECONDS = 330.0
"""Longer than any call may take; the deadline of the call is what ends it."""

_SCOPE = re.compile(r'scope="([^"]{1,300})"')
_DEFAULT_PORT = {"http": 80, "https": 443}


class Wire(httpx2.AsyncBaseTransport):
    """Sends what the SDK sends through the guarded transport.

    `problem` is the first thing that went wrong below MCP: the SDK catches some of these.
    `bare_status` is that of the last answer when it was an error without a word of MCP, else 0.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner
        self.problem: ToolError | None = None
        self.bare_status = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request; raises ToolError where the server cannot be asked."""
        try:
            return await self._send(request)
        except ToolError as error:
            self.problem = self.problem or error
            raise
        except httpx.TransportError as error:
            self.problem = self.problem or _unreachable(request, error)
            raise self.problem from error

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(
            httpx.Request(
                request.method,
                str(request.url),
                headers=request.headers.raw,
                content=await request.aread(),
                extensions={"timeout": request.extensions.get("timeout", {})},
            )
        )
        is_json = response.headers.get("Content-Type", "").startswith("application/json")
        is_error = response.status_code >= HTTPStatus.BAD_REQUEST
        self.bare_status = response.status_code if is_error and not is_json else 0
        if (problem := _refusal(request, response)) is not None:
            await response.aclose()
            raise problem
        assert isinstance(response.stream, httpx.AsyncByteStream)  # noqa: S101 - the guard's own
        return httpx2.Response(
            response.status_code,
            headers=response.headers.raw,
            stream=_Body(response.stream, self, request),
            extensions={"http_version": response.extensions.get("http_version", b"HTTP/1.1")},
        )


class _Body(httpx2.AsyncByteStream):
    def __init__(self, body: httpx.AsyncByteStream, wire: Wire, request: httpx2.Request) -> None:
        self._body, self._wire, self._request = body, wire, request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._body:
                yield piece
        except ToolError as error:
            self._wire.problem = self._wire.problem or error
            raise
        except httpx.TransportError as error:
            # Not kept as the problem: a stream that broke off may be taken up again.
            raise httpx2.ReadError(str(error), request=self._request) from error

    async def aclose(self) -> None:
        await self._body.aclose()


@asynccontextmanager
async def open_wire(
    server: HttpServer, secret: str
) -> AsyncIterator[tuple[httpx2.AsyncClient, Wire]]:
    """Yield the client for one server, signed in with `secret` where it wants that."""
    url = httpx2.URL(server.url)
    port = url.port or _DEFAULT_PORT[url.scheme]
    named = str(HostPattern(canonical_host(url.raw_host.decode("ascii")), port=port))
    guard = Guard(hosts=(named,), max_bytes=LARGEST_ANSWER)
    wire = Wire(guarded_transport(guard))
    timeout = httpx2.Timeout(CONNECT_SECONDS, read=READ_SECONDS)
    headers = _sign_in(server, secret)
    async with httpx2.AsyncClient(
        transport=wire, headers=headers, timeout=timeout, trust_env=False
    ) as client:
        yield client, wire


def _sign_in(server: HttpServer, secret: str) -> dict[str, str]:
    if server.auth is None:
        return {}
    if not secret.isascii() or not secret.isprintable() or secret != secret.strip():
        raise UpstreamAuth(
            f"The value of {server.auth.env} cannot be sent in a header.",
            "Save it anew under Credentials, without spaces or line breaks round it.",
        )
    name, value = server.auth.header(secret)
    return {name: value}


def _refusal(request: httpx2.Request, response: httpx.Response) -> ToolError | None:
    """Return the error of an answer that says nothing in MCP's own words."""
    host, status = request.url.host, response.status_code
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        scope = _SCOPE.search(response.headers.get("WWW-Authenticate", ""))
        wanted = f" It asks for the scope {scope[1]}." if scope else ""
        return UpstreamAuth(
            f"The MCP server at {host} wants a sign-in that it accepts: it answered {status}."
            f"{wanted}",
            http_status=status,
        )
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return UpstreamRateLimited(
            f"The MCP server at {host} takes no more requests at the moment.", http_status=status
        )
    if status in {
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }:
        return UpstreamUnreachable(
            f"The MCP server at {host} is down: it answered {status}.", http_status=status
        )
    if status in {HTTPStatus.MOVED_PERMANENTLY, HTTPStatus.FOUND, HTTPStatus.SEE_OTHER}:
        return UpstreamError(
            f"The MCP server at {host} leads to another address ({status}), which is not followed.",
            "Import the server by the address that it leads to.",
            http_status=status,
        )
    return None


def _unreachable(request: httpx2.Request, error: httpx.TransportError) -> UpstreamUnreachable:
    why = "no answer in time" if isinstance(error, httpx.TimeoutException) else str(error)[:200]
    return UpstreamUnreachable(
        f"The MCP server at {request.url.host} cannot be reached: {why or type(error).__name__}."
    )
