"""An MCP server with one tool for each kind of answer that the suite asks for.

The product does not know these tools: it imports them as those of any server, and what the suite
then sees at the product's own address is what came through.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    ElicitRequest,
    ElicitRequestFormParams,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    ResourceLink,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)

from tests.fakes.mcp_server import PIXEL, App

Context = ServerRequestContext[Any, Any]

SOUND = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
FAILS = "This tool intentionally returns an error for testing"
ASKING = "test_asks_the_client"
CHANGING = "test_trigger_tool_change"
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}

JSON_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
HEADER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    "required": ["region"],
}
MEASURED: dict[str, Any] = {
    "type": "object",
    "properties": {"celsius": {"type": "number"}},
    "required": ["celsius"],
}

ANNOTATED = TextContent(
    type="text", text="For the assistant.", annotations={"audience": ["assistant"], "priority": 0.5}
)
FILE = EmbeddedResource(
    type="resource",
    resource=TextResourceContents(
        uri="test://embedded-resource", mime_type="text/plain", text="This is an embedded resource."
    ),
    _meta={"example.com/shelf": 3},
)
LINK = ResourceLink(
    type="resource_link",
    name="report",
    title="The report",
    uri="test://report",
    mime_type="text/csv",
    size=12,
)
BLOB = EmbeddedResource(
    type="resource",
    resource=BlobResourceContents(uri="test://blob", mime_type="text/plain", blob="aGk="),
)

_TEXT = TextContent(type="text", text="This is a simple text response for testing.")
_IMAGE = ImageContent(type="image", data=PIXEL, mime_type="image/png")
_AUDIO = AudioContent(type="audio", data=SOUND, mime_type="audio/wav")

ANSWERS: dict[str, list[ContentBlock]] = {
    "test_simple_text": [_TEXT],
    "test_image_content": [_IMAGE],
    "test_audio_content": [_AUDIO],
    "test_embedded_resource": [FILE],
    "test_multiple_content_types": [_TEXT, _IMAGE, FILE],
    "test_every_kind": [ANNOTATED, _IMAGE, _AUDIO, FILE, BLOB, LINK],
    "json_schema_2020_12_tool": [_TEXT],
}
SCHEMAS = {"json_schema_2020_12_tool": JSON_SCHEMA, "test_headers": HEADER_SCHEMA}
WITH_CODE = ("test_error_handling", "test_tool_with_progress", "test_headers", "test_structured")
OTHERS = ("test_logging_tool", "test_streaming_elicitation", ASKING, CHANGING)


def tools() -> list[Tool]:
    """Return what the server offers."""
    names = [*ANSWERS, *WITH_CODE, *OTHERS]
    return [
        Tool(
            name=name,
            title=f"Title of {name}",
            description=f"Answers as the suite wants {name} to.",
            input_schema=SCHEMAS.get(name, NOTHING),
            output_schema=MEASURED if name == "test_structured" else None,
            annotations=ToolAnnotations(
                read_only_hint=True, idempotent_hint=True, open_world_hint=False
            ),
        )
        for name in names
    ]


Answer = CallToolResult | InputRequiredResult


async def answered(ctx: Context, params: CallToolRequestParams) -> Answer:
    """Answer a call."""
    match params.name:
        case "test_error_handling":
            words = TextContent(type="text", text=FAILS)
            return CallToolResult(content=[words], is_error=True)
        case "test_logging_tool":
            with warnings.catch_warnings():  # deprecated, and still sent by servers
                warnings.simplefilter("ignore", MCPDeprecationWarning)
                await ctx.session.send_log_message("warning", "A line that is not passed on.")
        case name if name == ASKING:
            form = ElicitRequestFormParams(message="Who?", requested_schema=NOTHING)
            return InputRequiredResult(input_requests={"who": ElicitRequest(params=form)})
        case "test_tool_with_progress":
            for done in (0, 50, 100):
                await ctx.session.report_progress(done, 100, f"{done} of it")
                await asyncio.sleep(0.02)
        case "test_structured":
            return CallToolResult(
                content=[_TEXT],
                structured_content={"celsius": 21.5},
                _meta={"example.com/sensor": "attic"},
            )
        case "test_headers":
            region = (params.arguments or {}).get("region")
            return CallToolResult(content=[TextContent(type="text", text=f"Region: {region}")])
    return CallToolResult(content=list(ANSWERS.get(params.name, [_TEXT])))


def upstream_app(change: Callable[[], None]) -> App:
    """Return the server as an ASGI app, for `running_app`.

    `change` is called when its tool is that changes what the product lists.
    """

    async def listed(ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=tools())

    async def called(ctx: Context, params: CallToolRequestParams) -> Answer:
        if params.name == CHANGING:
            await asyncio.to_thread(change)
        return await answered(ctx, params)

    server = Server("everything", version="1.0.0", on_list_tools=listed, on_call_tool=called)
    return server.streamable_http_app()  # type: ignore[return-value]
