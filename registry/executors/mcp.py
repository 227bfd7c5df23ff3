"""Run a tool of an MCP server, remote or in the sandbox."""

import mcp_types as types
from django.utils import timezone

from config.lib.jsontext import size_of, storable
from config.lib.types import JsonObject
from registry.context import CallContext
from registry.errors import DefinitionChanged, ToolError, ToolFailed, ToolUnavailable
from registry.executors.base import Output, give_back_connection
from registry.mcp import client, door
from registry.mcp.content import answer_of
from registry.mcp.settings import StdioServer, server_of
from registry.models import CheckSchedule, Proposal
from registry.models.proposal import Cause, ProposalState
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

        try:
            result, logs = door.run(
                work,
                cancel=context.cancel,
                note=lambda item: context.progress(storable(item)),
            )
        except ToolError as error:
            raise _naming_review(error, spec) from None
        try:
            value, details = answer_of(result)
        except ToolFailed as error:
            details = error.extra.pop("details", None)
            failed = ToolFailed(error.message, details=_told(details, logs))
            raise _naming_review(failed, spec) from error
        return Output(value=value, details=_told(details, logs))


def _naming_review(error: ToolError, spec: ToolSpec) -> ToolError:
    """Name the open review where the server says something else of the tool than was approved.

    Where none is open yet, the package is looked at as soon as may be, which opens one.
    """
    waiting = Proposal.objects.filter(
        package__tools=spec.tool_id, state=ProposalState.OPEN, cause=Cause.CHECK
    )
    for proposal in waiting:
        if any(entry["tool"] == str(spec.tool_id) for entry in proposal.versions):
            error.hint = (
                "The server describes the tool otherwise than was approved. A reviewer has to "
                f"look at the change: review {proposal.pk} is open on the package's page."
            )
            error.extra["proposal"] = str(proposal.pk)
            return error
    if isinstance(error, DefinitionChanged):
        schedules = CheckSchedule.objects.filter(package__tools=spec.tool_id)
        schedules.update(next_at=timezone.now())
        error.hint = "The server is looked at now, which opens a review; ask a reviewer to decide."
    return error


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
