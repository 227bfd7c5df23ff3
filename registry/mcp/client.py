"""One connection to one server: made, used and ended within a block."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from config.lib.types import JsonObject
from registry.errors import (
    DefinitionChanged,
    MissingCredential,
    ToolError,
    ToolTimeout,
    ToolUnavailable,
    UnknownExport,
    UpstreamError,
    UpstreamUnreachable,
)
from registry.mcp.failures import answer_in, tool_error_of
from registry.mcp.settings import HttpServer, Server, StdioServer
from registry.mcp.wire import Wire, open_wire
from registry.sandbox.stdio import mcp_server

START_SECONDS = 60.0
"""For starting the server and agreeing on a version, before the time of a call begins."""

CLIENT = types.Implementation(name="outfitter", title="Outfitter", version="1")
MOST_PAGES = 50
MOST_TOOLS = 500
MOST_LOGS = 500
MOST_PROGRESS = 100

Progress = Callable[[JsonObject], None]


@dataclass(frozen=True, kw_only=True)
class Target:
    """A server, and what this one connection to it may have. Never kept, for it holds secrets."""

    server: Server
    name: str
    artifact: str = ""
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    network: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Listing:
    """What a server offers; `protocol` is the version that was agreed on."""

    protocol: str
    info: JsonObject
    instructions: str
    tools: list[JsonObject]
    problems: list[str]


@dataclass(kw_only=True)
class Notes:
    """What a server says on the way."""

    progress: Progress
    logs: list[JsonObject] = field(default_factory=list)
    told: int = 0

    def tell(self, done: float, total: float | None, message: str | None) -> None:
        """Pass on how far the call is; a server that tells too often is not heard to the end."""
        self.told += 1
        if self.told <= MOST_PROGRESS:
            self.progress(_progress_note(done, total, message))

    def log(self, level: str, text: str) -> None:
        """Keep a line; those over the limit are dropped."""
        if len(self.logs) < MOST_LOGS:
            self.logs.append({"level": level, "text": text})


async def call(
    target: Target, tool: types.Tool, arguments: JsonObject, *, seconds: float, notes: Notes
) -> types.CallToolResult:
    """Connect, call one tool and hang up; raises ToolError."""

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        notes.tell(progress, total, message)

    async with _errors_told(), _connected(target, notes, seconds) as client:
        # Known already: the SDK would list all tools again to learn these two schemas.
        known = types.ListToolsResult(tools=[tool])
        client.session._absorb_tool_listing(known, complete=False)
        try:
            return await client.call_tool(tool.name, arguments, progress_callback=tell)
        except MCPError as error:
            # The same code says that the arguments are wrong and that there is no such tool.
            if error.code == types.INVALID_PARAMS:
                await _check_offered(client, target, tool, error)
            raise


async def listing(target: Target, *, notes: Notes) -> Listing:
    """Connect, list the tools and hang up; raises ToolError."""
    problems: list[str] = []
    async with _errors_told(), _connected(target, notes, START_SECONDS) as client:
        tools = await _tools(client, problems)
        info = client.server_info
        return Listing(
            protocol=client.protocol_version,
            info=info.model_dump(mode="json", by_alias=True, exclude_none=True) if info else {},
            instructions=client.instructions or "",
            tools=tools,
            problems=problems,
        )


async def _check_offered(client: Client, target: Target, tool: types.Tool, error: MCPError) -> None:
    """Raise what is wrong where the server does not offer the tool as it is known here."""
    offered = {item["name"]: item for item in await _tools(client, [])}
    if tool.name not in offered:
        message = f"{target.name} no longer has the tool “{tool.name}”."
        raise UnknownExport(message) from error
    schema = {"type": "object", **(offered[tool.name].get("inputSchema") or {})}
    if schema != tool.input_schema:
        raise DefinitionChanged(
            f"{target.name} no longer takes the input of “{tool.name}” that was approved."
        ) from error


async def _tools(client: Client, problems: list[str]) -> list[JsonObject]:
    found: list[JsonObject] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += [
            tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in page.tools
        ]
        cursor = page.next_cursor
        if cursor is None or len(found) >= MOST_TOOLS:
            break
    if cursor is not None:
        problems.append(f"The server lists more tools than are read: only the first {len(found)}.")
    return found


@asynccontextmanager
async def _connected(target: Target, notes: Notes, seconds: float) -> AsyncIterator[Client]:
    """Yield a client that agreed with the server on a version; raises ToolTimeout at the end."""

    async def logged(params: types.LoggingMessageNotificationParams) -> None:
        text = params.data if isinstance(params.data, str) else str(params.data)
        notes.log(params.level, f"{params.logger}: {text}" if params.logger else text)

    with anyio.CancelScope(deadline=anyio.current_time() + START_SECONDS) as scope:
        started = False
        async with AsyncExitStack() as stack:
            transport, wire = await _transport(stack, target, notes, seconds)
            client = Client(
                transport,
                mode=_mode(target.server.protocol),
                client_info=CLIENT,
                logging_callback=logged,
                log_level="info",
                cache=None,
            )
            try:
                await stack.enter_async_context(client)
                started = True
                scope.deadline = anyio.current_time() + seconds
                yield client
            except (MCPError, ExceptionGroup) as error:
                if wire is not None and (problem := _below(wire, target)) is not None:
                    raise problem from error
                if not started and (answer := answer_in(error)) is not None:
                    raise _no_server(target, answer) from error
                raise
    if scope.cancelled_caught:
        raise _late(target, started=started, seconds=seconds)


async def _transport(
    stack: AsyncExitStack, target: Target, notes: Notes, seconds: float
) -> tuple[Any, Wire | None]:
    server = target.server
    if isinstance(server, HttpServer):
        secret = _secret(server, target.env)
        client, wire = await stack.enter_async_context(open_wire(server, secret))
        return streamable_http_client(server.url, http_client=client), wire
    return _sandboxed(server, target, notes, seconds), None


def _sandboxed(server: StdioServer, target: Target, notes: Notes, seconds: float) -> Any:
    return mcp_server(
        artifact=target.artifact,
        command=server.command,
        arguments=server.args,
        env=target.env,
        network=target.network,
        seconds=START_SECONDS + seconds,
        on_log=notes.log,
    )


def _secret(server: HttpServer, env: Mapping[str, str]) -> str:
    if server.auth is None:
        return ""
    if not (value := env.get(server.auth.env, "")):
        name = server.auth.env
        raise MissingCredential(f"The server needs {name}, which is not set.", missing=[name])
    return value


def _mode(protocol: str) -> str:
    """Return how the SDK is to greet: as at the import, so that no question is asked in vain."""
    if protocol in HANDSHAKE_PROTOCOL_VERSIONS:
        return "legacy"
    return protocol if protocol in MODERN_PROTOCOL_VERSIONS else "auto"


def _below(wire: Wire, target: Target) -> ToolError | None:
    """Return what went wrong below MCP, if anything did."""
    if wire.problem is None and wire.bare_status:
        return UpstreamError(
            f"The MCP server {target.name} answered {wire.bare_status}, without saying why.",
            "Check its address; if it is right, try again later.",
            http_status=wire.bare_status,
        )
    return wire.problem


def _no_server(target: Target, error: MCPError) -> ToolError:
    """Return the error of a greeting that was not answered as MCP wants it."""
    told = tool_error_of(error)
    if isinstance(told, ToolTimeout | UpstreamUnreachable | ToolUnavailable):
        return told
    unreadable = error.code == types.PARSE_ERROR
    said = "what it sends cannot be read" if unreadable else error.message.strip(" .")[:500]
    return UpstreamError(
        f"{target.name} does not answer as an MCP server does: {said}.",
        "Check the address or the package, and the arguments that it is started with.",
    )


def _late(target: Target, *, started: bool, seconds: float) -> ToolTimeout:
    if started:
        return ToolTimeout(f"{target.name} did not answer within {seconds:g} seconds.")
    return ToolTimeout(f"{target.name} did not start within {START_SECONDS:g} seconds.")


def _progress_note(done: float, total: float | None, message: str | None) -> JsonObject:
    """Return `{message, progress, total}`; a server that gives no words gets numbers."""
    told = message or (f"{done:g} of {total:g}" if total else f"{done:g}")
    return {"message": told[:500], "progress": done, "total": total}


@asynccontextmanager
async def _errors_told() -> AsyncIterator[None]:
    """Raise ToolError in place of what the SDK raises."""
    try:
        yield
    except Exception as error:
        told = tool_error_of(error)
        if told is None:
            raise
        raise told from error
