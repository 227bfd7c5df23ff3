"""MCP servers on loopback: one made with the SDK, in either era; and ones that misbehave."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import threading
import warnings
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    ToolAnnotations,
)

PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d494844520000000100000001080600000"
        "01f15c4890000000d49444154789c63f8cfc0f01f00050001ff89993d"
        "1d0000000049454e44ae426082"
    )
).decode()
TOKEN = "sesame-9f31c2"

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass
class McpServer:
    """A running server: its address, and what it was asked (`method` of each message)."""

    url: str
    asked: list[str] = field(default_factory=list)
    versions: set[str] = field(default_factory=set)
    released: threading.Event = field(default_factory=threading.Event)
    cut_off: threading.Event = field(default_factory=threading.Event)


def sample_server(state: McpServer) -> MCPServer:
    """Return a server with one tool for each kind of answer."""
    server = MCPServer(name="sample", version="1.2.3", instructions="Use it with care.")

    @server.tool(title="Add two numbers", annotations=ToolAnnotations(read_only_hint=True))
    def add(a: int, b: int) -> int:
        """Add two whole numbers and return the sum."""
        return a + b

    @server.tool(structured_output=False)
    def say(text: str) -> str:
        """Say something back, as a text and nothing else."""
        return text

    @server.tool(annotations=ToolAnnotations(destructive_hint=True))
    def mixed() -> CallToolResult:
        """Answer with a text, an image, a sound, a resource and a link."""
        return CallToolResult(
            content=[
                TextContent(type="text", text="All of it"),
                ImageContent(type="image", data=PIXEL, mime_type="image/png"),
                AudioContent(type="audio", data="UklGRg==", mime_type="audio/wav"),
                EmbeddedResource(
                    type="resource",
                    resource=BlobResourceContents(
                        uri="sample://blob", mime_type="text/plain", blob="aGk="
                    ),
                ),
                ResourceLink(type="resource_link", name="more", uri="sample://more"),
            ]
        )

    @server.tool(structured_output=False)
    def fail() -> CallToolResult:
        """Fail, as tools do: with an answer that says so."""
        words = TextContent(type="text", text="The printer is out of paper.")
        return CallToolResult(content=[words], is_error=True)

    @server.tool(structured_output=False)
    async def slow(ctx: Context[Any, Any]) -> str:
        """Tell how far it is, then answer."""
        for step in (1, 2, 3):
            await ctx.report_progress(step, 3, f"Step {step}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            await ctx.info("nearly there")
        return "done"

    @server.tool(structured_output=False)
    async def hang() -> str:
        """Never answer."""
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            state.cut_off.set()
            raise
        return "at last"

    return server


@contextmanager
def running_mcp_server(
    *, era: str = "modern", token: str = "", header: str = "authorization"
) -> Iterator[McpServer]:
    """Run the sample server; `era` of `legacy` knows `initialize` only, with a session.

    With a `token`, whoever does not send it is answered 401.
    """
    with _socket() as listener:
        state = McpServer(url=f"http://127.0.0.1:{listener.getsockname()[1]}/mcp")
        app: App = sample_server(state).streamable_http_app()  # type: ignore[assignment]
        app = _watched(app, state, legacy=era == "legacy")
        if token:
            app = _guarded(app, token, header)
        with _served(app, listener):
            yield state


@contextmanager
def running_app(app: App) -> Iterator[str]:
    """Run any ASGI app; yields its address."""
    with _socket() as listener, _served(app, listener):
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"


def answering(status: int, body: bytes = b"", **headers: str) -> App:
    """Return an app that answers everything alike; `_` in a header's name stands for `-`."""
    sent = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": status, "headers": sent})
            await send({"type": "http.response.body", "body": body})

    return app


def _watched(app: App, state: McpServer, *, legacy: bool) -> App:
    """Note what is asked; in the legacy era refuse what did not exist then."""

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        state.versions.add(headers.get(b"mcp-protocol-version", b"").decode())
        first = await receive()
        message = json.loads(first.get("body") or b"{}")
        state.asked.append(message.get("method", ""))
        if legacy and message.get("method") == "server/discover":
            error = {"code": -32601, "message": "Method not found"}
            body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode()
            await answering(200, body, content_type="application/json")(scope, receive, send)
            return
        again = iter([first])

        async def replay() -> dict[str, Any]:
            return next(again, None) or await receive()

        await app(scope, replay, send)

    return watched


def _guarded(app: App, token: str, header: str) -> App:
    expected = f"Bearer {token}" if header == "authorization" else token

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope.get("headers", ()))
        if scope["type"] == "http" and headers.get(header.encode(), b"").decode() != expected:
            asks = 'Bearer error="insufficient_scope", scope="tools:run"'
            await answering(401, www_authenticate=asks)(scope, receive, send)
            return
        await app(scope, receive, send)

    return guarded


@contextmanager
def _socket() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


@contextmanager
def _served(app: App, listener: socket.socket) -> Iterator[None]:
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(10)
