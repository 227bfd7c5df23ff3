"""Send one request to its end: redirects, time, cancellation and size are seen to here."""

import asyncio
import threading
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx

from registry.errors import CallCancelled, HostRefused, ToolTimeout, UpstreamUnreachable
from registry.outbound.guard import DEFAULT_PORT, Guard
from registry.outbound.transports import guarded_transport

MOST_REDIRECTS = 5
POLL_SECONDS = 0.05
"""How often a running request looks whether it was cancelled."""

KEPT_ACROSS_ORIGINS = frozenset({"accept", "accept-language", "content-type", "user-agent"})
"""Headers that a redirect to another origin keeps; any other may be a credential."""

ABOUT_THE_BODY = frozenset({"content-length", "content-type", "transfer-encoding"})
MAKES_GET = {HTTPStatus.MOVED_PERMANENTLY, HTTPStatus.FOUND, HTTPStatus.SEE_OTHER}
KEEPS_METHOD = {HTTPStatus.TEMPORARY_REDIRECT, HTTPStatus.PERMANENT_REDIRECT}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a server said; `body` is unpacked, `host` the one that answered in the end."""

    status: int
    headers: httpx.Headers
    body: bytes
    host: str


def fetch(
    request: httpx.Request,
    *,
    seconds: float,
    guard: Guard | None = None,
    cancel: threading.Event | None = None,
    most_redirects: int = MOST_REDIRECTS,
) -> Answer:
    """Send `request` and return the answer, whatever its status, after at most `seconds`.

    With `most_redirects=0` an answer that leads elsewhere is returned as it is.

    Call it in a thread that runs no event loop. Raises HostRefused, UpstreamUnreachable,
    UpstreamError (an answer that cannot be unpacked), ResponseTooLarge, ToolTimeout, CallCancelled.
    """
    sending = _follow(request, guard or Guard(), seconds, most_redirects)
    return asyncio.run(_bounded(sending, request.url.host, seconds, cancel or threading.Event()))


async def _bounded(
    sending: Coroutine[Any, Any, Answer], host: str, seconds: float, cancel: threading.Event
) -> Answer:
    until = time.monotonic() + seconds
    task = asyncio.ensure_future(sending)
    while not task.done():
        left = until - time.monotonic()
        if left > 0 and not cancel.is_set():
            await asyncio.wait({task}, timeout=min(POLL_SECONDS, left))
            continue
        task.cancel()
        await asyncio.wait({task}, timeout=POLL_SECONDS)
        if cancel.is_set():
            raise CallCancelled
        raise ToolTimeout(f"{host} did not answer fully within {seconds:g} seconds.")
    return await task


async def _follow(request: httpx.Request, guard: Guard, seconds: float, most: int) -> Answer:
    for _ in range(most + 1):
        answer = await _ask(request, guard, seconds)
        onward = _redirected(request, answer) if most else None
        if onward is None:
            return answer
        request = onward
    raise UpstreamUnreachable(
        f"{answer.host} redirected the request more than {most} times.",
        "Write the address that the service really answers at.",
    )


async def _ask(request: httpx.Request, guard: Guard, seconds: float) -> Answer:
    host = request.url.host
    request.extensions["timeout"] = httpx.Timeout(seconds).as_dict()
    try:
        async with guarded_transport(guard) as transport:
            response = await transport.handle_async_request(request)
            try:
                parts = [part async for part in response.aiter_raw()]
            finally:
                await response.aclose()
    except httpx.TransportError as error:
        raise _unreachable(host, error) from None
    return Answer(
        status=response.status_code, headers=response.headers, body=b"".join(parts), host=host
    )


def _unreachable(host: str, error: httpx.TransportError) -> UpstreamUnreachable:
    """Say what happened; httpx's own words are repeated only where they hold no request."""
    match error:
        case httpx.ConnectTimeout():
            why = "it did not accept the connection in time"
        case httpx.ConnectError():
            why = " ".join(str(error).split())[:200] or "no connection"
        case httpx.LocalProtocolError():
            why = "a header of the request is not valid"
        case httpx.ProtocolError():
            why = "its answer is not valid HTTP"
        case _:
            why = "the connection broke off"
    return UpstreamUnreachable(f"{host} could not be asked: {why}.", host=host)


def _redirected(request: httpx.Request, answer: Answer) -> httpx.Request | None:
    """Return the request that a redirect asks for, None when the answer is none."""
    location = answer.headers.get("Location")
    if answer.status not in MAKES_GET | KEEPS_METHOD or not location:
        return None
    try:
        url = request.url.join(location)
    except (httpx.InvalidURL, ValueError):
        raise HostRefused(
            f"{answer.host} redirects to an address that cannot be read.", host=answer.host
        ) from None
    headers = request.headers.copy()
    del headers["Host"]
    if _origin(url) != _origin(request.url):
        headers = httpx.Headers([(k, v) for k, v in headers.raw if _kept(k)])
    becomes_get = request.method != "HEAD" and (
        answer.status == HTTPStatus.SEE_OTHER
        or (answer.status in MAKES_GET and request.method == "POST")
    )
    if not becomes_get:
        return httpx.Request(request.method, url, headers=headers, content=request.content)
    for name in ABOUT_THE_BODY & {key.lower() for key in headers}:
        del headers[name]
    return httpx.Request("GET", url, headers=headers)


def _kept(name: bytes) -> bool:
    return name.decode("latin-1").lower() in KEPT_ACROSS_ORIGINS


def _origin(url: httpx.URL) -> tuple[str, bytes, int | None]:
    return url.scheme, url.raw_host, url.port or DEFAULT_PORT.get(url.scheme)
