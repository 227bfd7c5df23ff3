"""Run a tool of an MCP server, remote or in the sandbox."""

import mcp_types as types

from config.lib.jsontext import size_of, storable
from config.lib.types import JsonObject
from registry.context import CallContext
from registry.errors import ToolFailed, ToolUnavailable
from registry.executors.base import Output, give_back_connection
from registry.mcp import client, door
from registry.mcp.content import answer_of
from registry.mcp.settings import StdioServer, server_of
from registry.specs import ToolSpec

LARGEST_DETAILS = 1_000_000
"""Bytes of content beside the value; the value itself has the same limit."""


class McpExecutor:
    """Makes a connection for the one call; a sandboxed server's process serves no other."""

    def execute(self, spec: ToolSpec, arguments: JsonObject, context: CallContext) -> Output:
        """Call the server's tool, passing on its progress; raise ToolError when it fails."""
        target = _target(spec, context)
        tool = types.Tool(
            name=spec.export_name,
            input_schema=dict(spec.input_schema),
            output_schema=dict(spec.output_schema) if spec.output_schema else None,
        )
        give_back_connection()

        async def work(note: door.Note) -> tuple[types.CallToolResult, list[JsonObject]]:
            notes = client.Notes(progress=note)
            seconds = float(spec.timeout_seconds)
            result = await client.call(target, tool, arguments, seconds=seconds, notes=notes)
            return result, notes.logs

        result, logs = door.run(
            work,
            cancel=context.cancel,
            note=lambda item: context.progress(storable(item)),
        )
        try:
            value, details = answer_of(result)
        except ToolFailed as error:
            details = error.extra.pop("details", None)
            raise ToolFailed(error.message, details=_told(details, logs)) from error
        return Output(value=value, details=_told(details, logs))


def _told(details: JsonObject | None, logs: list[JsonObject]) -> JsonObject | None:
    """Return `{content?, logs?}`, or None when there is nothing to tell."""
    told = {**(details or {}), **({"logs": logs} if logs else {})}
    if size_of(told) > LARGEST_DETAILS:
        told = {"logs": logs} if logs else {}
    return told or None


def _target(spec: ToolSpec, context: CallContext) -> client.Target:
    package = spec.package or {}
    server = server_of(package.get("settings"))
    artifact = package.get("artifact", "")
    if isinstance(server, StdioServer) and not artifact:
        raise ToolUnavailable(
            f"{spec.label} is not installed.", "Import the server again from its page."
        )
    return client.Target(
        server=server,
        name=str(package.get("name", spec.label)),
        artifact=artifact,
        env=dict(context.env([variable.name for variable in spec.env])),
        network=context.allowed_hosts,
    )
