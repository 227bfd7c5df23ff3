"""Watches every request from outside: its id, its line in the log, its counts, its span."""

import logging
import re
import time
from http import HTTPStatus
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from config.ending import Parting, streams, wants_stream
from config.lib import meters, traces
from config.lib.exchanges import Exchange, exchange_begin
from config.lib.logs import noted

logger = logging.getLogger("outfitter.access")

PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
"""Asked every few seconds: counted, but neither logged nor traced while all is well."""

CLIENT_LEFT = 499
"""What stands for the status where the client had gone before there was an answer."""

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

MOUNTED = (
    (re.compile(r"/static(/.*)?"), "/static/"),
    (re.compile(r"/mcp/?"), "/mcp"),
    (re.compile(r"/mcp/agents/[^/]+/?"), "/mcp/agents/<slug>"),
)
"""The routes of what Django does not answer."""

UNKNOWN = "unknown"
"""The route of an address that there is not, and the method that nobody knows."""


class Observed:
    """Wraps the whole product."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and tell how that went."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = _headers(scope)
        exchange = exchange_begin(headers.get("x-request-id", ""))
        with noted(request_id=exchange.request_id):
            if scope["path"] in PROBES or scope["path"].startswith("/static/"):
                await self._answer(scope, receive, send, exchange, traces.NOTHING)
                return
            told = {name: headers[name] for name in TRACE_HEADERS if name in headers}
            method = _method(scope)
            with traces.span(method, kind="server", told=told, http__request__method=method) as on:
                await self._answer(scope, receive, send, exchange, on)

    async def _answer(
        self, scope: Scope, receive: Receive, send: Send, exchange: Exchange, span: traces.Span
    ) -> None:
        started, status = time.monotonic(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _name(message, exchange.request_id)
            await send(message)

        ends = streams.begin() if wants_stream(_header(scope, b"accept")) else None
        try:
            if ends is None:
                await self.app(scope, receive, sending)
            else:
                parting = Parting(ends, receive, sending)
                await self.app(scope, parting.receive, parting.send)
        except Exception:
            status = status or HTTPStatus.INTERNAL_SERVER_ERROR
            raise
        finally:
            if ends is not None:
                streams.over(ends)
            _tell(scope, exchange, status or CLIENT_LEFT, time.monotonic() - started, span)


TRACE_HEADERS = ("traceparent", "tracestate")


def _tell(scope: Scope, exchange: Exchange, status: int, seconds: float, span: traces.Span) -> None:
    method, route = _method(scope), exchange.route or _route_of(scope["path"])
    meters.REQUESTS.labels(method, route, str(status)).inc()
    meters.REQUEST_SECONDS.labels(method, route).observe(seconds)
    span.rename(f"{method} {route}")
    span.set(
        http__route=route,
        http__response__status_code=status,
        outfitter__request__id=exchange.request_id,
        outfitter__caller=exchange.caller,
    )
    server_failed = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    if server_failed:
        span.failed(str(status))
    quiet = route in PROBES or route == "/static/"
    if quiet and not server_failed:
        return
    facts = {
        "method": method,
        "route": route,
        "status": status,
        "ms": round(seconds * 1000, 1),
        "caller": exchange.caller,
    }
    with noted(user_id=exchange.user_id):
        words = "%(method)s %(route)s %(status)s %(ms)s ms %(caller)s"
        logger.info(words, facts, extra=facts)


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def _header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


def _method(scope: Scope) -> str:
    method: str = scope["method"]
    return method if method in METHODS else UNKNOWN


def _route_of(path: str) -> str:
    """Return the route of what something else than Django answered; never the path itself."""
    return next((route for pattern, route in MOUNTED if pattern.fullmatch(path)), UNKNOWN)


def _name(message: Any, request_id: str) -> None:
    """Tell the client the id, unless Django has."""
    headers = message.setdefault("headers", [])
    if not any(name.lower() == b"x-request-id" for name, _ in headers):
        headers.append((b"x-request-id", request_id.encode()))
