"""The guard as `httpx` transports: each request is checked, each connection pinned.

The name is resolved once, inside the dialling; the connection then goes to the address that was
checked, while the Host header and TLS (name and certificate) keep to the name. So a name that
resolves to something else a moment later gains nothing. Redirects that a client follows come
through here again. Proxies of the environment are never used.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, cast

import httpcore
import httpx

from registry.outbound.decoding import ACCEPTED, Decoder
from registry.outbound.guard import Guard

CONNECT_SECONDS = 10.0
"""For one address of a host, at most."""

MOST_CONNECTIONS = 100

_resolvers = ThreadPoolExecutor(max_workers=16, thread_name_prefix="resolve")
"""Resolving cannot be broken off; here it holds up neither an event loop nor its end."""


def guarded_transport(guard: Guard | None = None) -> httpx.AsyncBaseTransport:
    """Return a transport for `httpx.AsyncClient`; without a guard every public host is open.

    Raises HostRefused (a ToolError) through the client; the rest are httpx's own errors.
    """
    return _AsyncGuarded(guard or Guard())


def guarded_sync_transport(guard: Guard | None = None) -> httpx.BaseTransport:
    """Return the same for `httpx.Client`."""
    return _Guarded(guard or Guard())


@cache
def trusted() -> ssl.SSLContext:
    """Return the certificates to trust: those of `SSL_CERT_FILE`, or the public ones."""
    return httpx.create_ssl_context()


class _AsyncGuarded(httpx.AsyncHTTPTransport):
    # The parent's __init__ is left out on purpose: should httpx one day keep its pool under
    # another name, requests fail; they never go out unguarded.
    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=trusted(),
            max_connections=MOST_CONNECTIONS,
            network_backend=_AsyncDialler(guard),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request; the answer comes unpacked and is cut off at the guard's limit."""
        _prepare(self._guard, request)
        response = await super().handle_async_request(request)
        try:
            decoder = _decoder(self._guard, request, response)
        except BaseException:
            await response.aclose()
            raise
        if decoder is not None:
            packed = cast("httpx.AsyncByteStream", response.stream)
            response.stream = _AsyncUnpacked(packed, decoder)
        return response


class _Guarded(httpx.HTTPTransport):
    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._pool = httpcore.ConnectionPool(
            ssl_context=trusted(),
            max_connections=MOST_CONNECTIONS,
            network_backend=_Dialler(guard),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request; the answer comes unpacked and is cut off at the guard's limit."""
        _prepare(self._guard, request)
        response = super().handle_request(request)
        try:
            decoder = _decoder(self._guard, request, response)
        except BaseException:
            response.close()
            raise
        if decoder is not None:
            packed = cast("httpx.SyncByteStream", response.stream)
            response.stream = _Unpacked(packed, decoder)
        return response


def _prepare(guard: Guard, request: httpx.Request) -> None:
    guard.check_url(request.url)
    request.extensions.pop("sni_hostname", None)
    request.headers["Accept-Encoding"] = ACCEPTED


def _decoder(guard: Guard, request: httpx.Request, response: httpx.Response) -> Decoder | None:
    if request.method == "HEAD":
        return None
    encoding = response.headers.pop("Content-Encoding", "")
    decoder = Decoder(encoding, limit=guard.max_bytes, host=request.url.host)
    decoder.expect(response.headers.get("Content-Length"))
    if encoding:
        response.headers.pop("Content-Length", None)
    return decoder


class _AsyncUnpacked(httpx.AsyncByteStream):
    def __init__(self, packed: httpx.AsyncByteStream, decoder: Decoder) -> None:
        self._packed, self._decoder = packed, decoder

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for raw in self._packed:
            for piece in self._decoder.feed(raw):
                yield piece
        self._decoder.finish()

    async def aclose(self) -> None:
        await self._packed.aclose()


class _Unpacked(httpx.SyncByteStream):
    def __init__(self, packed: httpx.SyncByteStream, decoder: Decoder) -> None:
        self._packed, self._decoder = packed, decoder

    def __iter__(self) -> Iterator[bytes]:
        for raw in self._packed:
            yield from self._decoder.feed(raw)
        self._decoder.finish()

    def close(self) -> None:
        self._packed.close()


class _AsyncDialler(httpcore.AsyncNetworkBackend):
    def __init__(self, guard: Guard) -> None:
        self._guard, self._net = guard, httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(_resolvers, self._guard.addresses_of, host, port)
        for address in found[:-1]:
            try:
                return await self._net.connect_tcp(address, port, _of(timeout))
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._net.connect_tcp(found[-1], port, _of(timeout))

    async def sleep(self, seconds: float) -> None:
        await self._net.sleep(seconds)


class _Dialler(httpcore.NetworkBackend):
    def __init__(self, guard: Guard) -> None:
        self._guard, self._net = guard, httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        found = self._guard.addresses_of(host, port)
        for address in found[:-1]:
            try:
                return self._net.connect_tcp(address, port, _of(timeout))
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return self._net.connect_tcp(found[-1], port, _of(timeout))


def _of(timeout: float | None) -> float:
    return CONNECT_SECONDS if timeout is None else min(timeout, CONNECT_SECONDS)
