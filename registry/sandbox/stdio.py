"""Talk to an MCP server that runs in the sandbox, over two streams as the MCP SDK wants them.

Apart from `client`, because the SDK takes most of a second to import.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import anyio
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from config.lib.types import JsonObject
from registry.sandbox.client import LocalSandbox, as_tool_error, lost
from registry.sandbox.contract import LogSink
from registry.sandbox.paths import socket_path

REQUEST_ID = 1
LARGEST_LINE = 9 << 20
"""Bytes: the service sends lines of up to 4 MB, which escaping may double."""

Streams = tuple[
    MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]
]


@asynccontextmanager
async def mcp_server(
    *,
    artifact: str,
    command: str = "",
    arguments: Sequence[str] = (),
    env: Mapping[str, str],
    network: Sequence[str] = (),
    seconds: float,
    on_log: LogSink,
) -> AsyncIterator[Streams]:
    """Run the MCP server that a package is, in a process of its own, and yield `(read, write)`.

    `command` names one of the package's commands (empty: its only one, or the one named like the
    package). The process is killed on leaving the block, and after `seconds` at the latest. What
    the sandbox has to say is raised out of the block as a `ToolError`, in an exception group.
    """
    params: JsonObject = {
        "artifact": artifact,
        "command": command,
        "arguments": list(arguments),
        "env": dict(env),
        "network": list(network),
        "seconds": seconds,
    }
    connection = LocalSandbox(socket_path()).connect()
    reader, writer = await asyncio.open_unix_connection(sock=connection, limit=LARGEST_LINE)
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        await _send(writer, "open_stdio", params, request_id=REQUEST_ID)
        async with read, write, anyio.create_task_group() as tasks:
            tasks.start_soon(_receive, reader, incoming, on_log)
            tasks.start_soon(_forward, outgoing, writer)
            yield read, write
            tasks.cancel_scope.cancel()
    finally:
        for stream in (incoming, outgoing):
            stream.close()
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def _receive(
    reader: asyncio.StreamReader,
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
    on_log: LogSink,
) -> None:
    """Pass on the server's messages until the service says how it ended."""
    async with incoming:
        async for message in _messages(reader):
            if "error" in message:
                raise as_tool_error(message["error"])
            if "result" in message:
                return
            params = message["params"]
            if message["method"] == "log":
                on_log(params["level"], params["text"])
            elif (parsed := _parsed(params["message"])) is not None:
                with contextlib.suppress(anyio.BrokenResourceError):  # the client is leaving
                    await incoming.send(parsed)


async def _forward(
    outgoing: MemoryObjectReceiveStream[SessionMessage], writer: asyncio.StreamWriter
) -> None:
    async for message in outgoing:
        body = message.message.model_dump(mode="json", by_alias=True, exclude_unset=True)
        await _send(writer, "message", {"id": REQUEST_ID, "message": body})


async def _messages(reader: asyncio.StreamReader) -> AsyncIterator[JsonObject]:
    """Yield the service's messages; raises `SandboxUnavailable` when it hangs up."""
    try:
        while line := await reader.readline():
            yield json.loads(line)
    except (OSError, ValueError) as error:
        raise lost() from error
    raise lost()


def _parsed(message: JsonObject) -> SessionMessage | None:
    """Return a message as the SDK takes it; None for JSON-RPC that is none of MCP's."""
    try:
        return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_python(message))
    except ValidationError:
        return None


async def _send(
    writer: asyncio.StreamWriter, method: str, params: JsonObject, request_id: int | None = None
) -> None:
    request: JsonObject = {"jsonrpc": "2.0", "method": method, "params": params}
    if request_id is not None:
        request["id"] = request_id
    writer.write(json.dumps(request).encode() + b"\n")
    with contextlib.suppress(ConnectionError):  # the reader sees the end and tells why
        await writer.drain()
