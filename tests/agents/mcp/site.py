"""The MCP server on loopback, in this process, and the SDK's client for it in every revision."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from unittest.mock import patch

import httpx
import httpx2
import uvicorn
from django.contrib.auth.models import User
from mcp import Client
from mcp.client import session as client_session
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse

from agents.mcp.addresses import Elsewhere, mcp_routes
from agents.mcp.app import McpApp
from agents.mcp.origins import with_cors
from agents.tokens import token_create
from tests.live import eventually

MODERN = "2026-07-28"
HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26")
ALL = (MODERN, *HANDSHAKE)

Use = Callable[[Client], Awaitable[Any]]


page = PlainTextResponse("A page says that this is nothing.", status_code=404)


@contextmanager
def served(origins: tuple[str, ...] = ()) -> Iterator[str]:
    """Serve `/mcp` and the agents' addresses as the product does; yields the base URL."""
    app = McpApp()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with app.running():
            yield

    endpoint = with_cors(app, origins)
    routes = mcp_routes(endpoint, with_cors(Elsewhere(page), origins))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(
            Starlette(routes=routes, lifespan=lifespan),
            log_level="critical",
            timeout_graceful_shutdown=2,
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        eventually(lambda: server.started, what="the start of the server")
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()  # what still writes would meet the emptying of the tables


def token_for(user: User, *scopes: str) -> str:
    """Return the text of a new token."""
    return token_create(user, name="mcp", scopes=scopes)[1]


def using(
    url: str,
    token: str,
    use: Use,
    *,
    version: str = MODERN,
    on_response: Callable[[httpx2.Response], Awaitable[None]] | None = None,
    **options: Any,
) -> Any:
    """Connect with the SDK's client in a protocol revision and return what `use` returns.

    `on_response` is told of each HTTP answer once its head has come.
    """

    hooks = {"response": [on_response] if on_response else []}

    async def run() -> Any:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30, event_hooks=hooks) as http,
            Client(
                streamable_http_client(url, http_client=http),
                mode="auto" if version == MODERN else "legacy",
                **options,
            ) as client,
        ):
            assert client.session.protocol_version == version
            return await use(client)

    with patch.object(
        client_session,
        "LATEST_HANDSHAKE_VERSION",
        version if version != MODERN else client_session.LATEST_HANDSHAKE_VERSION,
    ):
        try:
            return asyncio.run(run())
        except BaseExceptionGroup as group:  # the client's task groups around what went wrong
            raise _first(group) from None


def _first(error: BaseException) -> BaseException:
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def post(
    url: str,
    token: str,
    method: str,
    params: dict[str, Any] | None = None,
    *,
    id_: str | int = 1,
    **headers: str,
) -> httpx.Response:
    """Send one message of the newest revision, as a client without a library does."""
    params = {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        },
        **(params or {}),
    }
    named = {"Mcp-Name": params["name"]} if isinstance(params.get("name"), str) else {}
    return httpx.post(
        url,
        content=json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}),
        headers={
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": MODERN,
            "Mcp-Method": method,
            **({"Authorization": f"Bearer {token}"} if token else {}),
            **named,
            **headers,
        },
        timeout=30,
    )
