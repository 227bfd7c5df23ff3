"""The ASGI application of `/mcp` and `/mcp/agents/<slug>`.

The SDK takes most of a second to import, so that it is imported beside the start, not in it.
"""

import asyncio
import gc
import json
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from importlib import import_module
from io import BytesIO
from typing import Any

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agents.mcp.door import ASKED_FOR, Knock, ScopeMissing, TokenMissing, TokenRefused, admitted
from agents.mcp.origins import is_allowed_origin, with_cors
from agents.mcp.requests import asked, body_of, replaying
from agents.mcp.splicing import Splice
from agents.mcp.streams import Ending
from agents.mcp.visits import SCOPE_KEY, Visit, current_visit
from config.lib.errors import DomainError, NotAllowed
from config.lib.exchanges import Exchange, current_exchange, exchange_of
from config.lib.threads import in_thread

METADATA = "/.well-known/oauth-protected-resource"
"""Where the metadata of a protected address stands, before its path (RFC 9728)."""

INVALID_REQUEST = -32600
LISTEN = "subscriptions/listen"


class HostRefused(DomainError):
    """This is not the name of this server."""

    code = "wrong_host"
    status = 421


class NotReady(DomainError):
    """The server is about to start, or to end."""

    code = "mcp_not_ready"
    status = 503
    default_hint = "Try again in a moment."


class McpApp:
    """Checks who comes, and hands on to the SDK's session manager."""

    def __init__(self) -> None:
        self._manager: asyncio.Future[Any] | None = None
        self._server: Any = None
        self._ending: Ending | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve while inside; requests that come at once wait until the SDK is there."""
        self._manager, self._ending = asyncio.get_running_loop().create_future(), Ending()
        stopped = asyncio.Event()
        serving = asyncio.create_task(self._serve(self._manager, stopped))
        try:
            yield
        finally:
            self.end()
            stopped.set()
            await serving
            self._manager = None

    @property
    def is_serving(self) -> bool:
        """Say whether the server is there for requests."""
        return self._manager is not None and self._manager.done()

    def end(self) -> None:
        """Close the streams that would stay open, from whatever thread."""
        if self._ending is not None:
            self._ending.begin()

    async def _serve(self, ready: asyncio.Future[Any], stopped: asyncio.Event) -> None:
        self._server = await asyncio.to_thread(import_module, "agents.mcp.server")
        manager = self._server.make_manager(self._server.make_server())
        gc.freeze()  # what was imported stays: no look through all there is for garbage passes it
        async with manager.run():
            ready.set_result(manager)
            await stopped.wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        request = ASGIRequest(scope, BytesIO())
        exchange = current_exchange() or exchange_of(request.headers.get("X-Request-ID", ""))
        send = _telling(send, exchange.request_id)
        try:
            await self._served(request, exchange, scope, receive, send)
        except DomainError as error:
            await refuse(error, request, send)

    async def _served(
        self, request: ASGIRequest, exchange: Exchange, scope: Scope, receive: Receive, send: Send
    ) -> None:
        try:
            address = request.build_absolute_uri(request.path)
        except DisallowedHost:
            raise HostRefused() from None
        if not is_allowed_origin(request):
            raise NotAllowed("Pages of this origin may not call this server.")
        if self._manager is None or self._ending is None:
            raise NotReady()
        manager = await asyncio.shield(self._manager)
        body = b""
        if request.method == "POST":
            body = await body_of(request, receive)
            receive = replaying(body, receive)
        method, name = asked(request, body)
        kind, _, token = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        knock = Knock(
            token=token.strip() if kind.lower() == "bearer" else "",
            resource=address,
            slug=scope.get("path_params", {}).get("slug", ""),
            discovery=request.GET.get("discovery", ""),
            method=method,
            name=name,
        )
        let_in = await in_thread(admitted, knock)
        bearer = let_in.endpoint.bearer
        exchange.caller, exchange.user_id = bearer.kind, str(bearer.user.pk)
        answer = Splice(send)
        visit = Visit(
            endpoint=let_in.endpoint,
            answer=answer,
            request_id=exchange.request_id,
            path=request.path,
            method=request.method or "",
            named=name,
            found=let_in.found,
        )
        scope[SCOPE_KEY] = visit
        scope["user"] = self._server.authenticated(visit.endpoint, request.path)
        current_visit.set(visit)
        with visit.changing():
            if request.method == "GET" or method == LISTEN:
                await self._ending.serve(manager.handle_request, bearer, scope, receive, answer)
            else:
                await manager.handle_request(scope, receive, answer)


def _telling(send: Send, request_id: str) -> Send:
    """Have an answer name its request."""

    async def told(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message)["X-Request-ID"] = request_id
        await send(message)

    return told


async def refuse(error: DomainError, request: ASGIRequest, send: Send) -> None:
    """Answer with an error as JSON-RPC has it, and with the challenge that its status wants."""
    body = {
        "jsonrpc": "2.0",
        "id": None,
        "error": {
            "code": INVALID_REQUEST,
            "message": f"{error.message} {error.hint}".strip(),
            "data": error.as_dict(),
        },
    }
    headers: MutableMapping[str, str] = {"content-type": "application/json", **error.headers}
    if challenge := _challenge(error, request):
        headers["www-authenticate"] = challenge
    listed = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    start = {"type": "http.response.start", "status": int(error.status), "headers": listed}
    await send(start)
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})


def _challenge(error: DomainError, request: ASGIRequest) -> str:
    """Return what tells a client where to get a token, and which scopes it needs."""
    match error:
        case TokenMissing():
            told = [("scope", ASKED_FOR)]
        case TokenRefused():
            told = [("error", error.code), ("error_description", error.message)]
            told.append(("scope", ASKED_FOR))
        case ScopeMissing():
            scopes = " ".join(error.extra["scopes"])
            told = [("error", error.code), ("error_description", error.message), ("scope", scopes)]
        case _:
            return ""
    address = request.build_absolute_uri(METADATA + request.path)
    parts = [f'resource_metadata="{address}"', *(f'{name}="{value}"' for name, value in told)]
    return f"Bearer {', '.join(parts)}"


mcp_app = McpApp()
"""The one of this process."""

application: ASGIApp = with_cors(mcp_app, settings.MCP_ORIGINS)
