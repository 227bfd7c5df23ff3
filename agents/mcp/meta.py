"""The tools about tools: for clients with small windows, which find the others at need."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import mcp_types as types
from mcp.server.context import ServerRequestContext

from agents.mcp.calls import Answer, call_tool
from agents.mcp.endpoint import Endpoint, Found, endpoint_context
from agents.mcp.finding import program_tools, told, tool_found, tools_found
from agents.mcp.results import failure
from agents.mcp.wire import tool_wire
from config.lib.threads import in_thread
from config.lib.types import JsonObject
from registry.code_tool import RUN_CODE
from registry.effects import annotations_now
from registry.errors import InvalidArguments, PermissionRefused, ToolError
from registry.finding import SEARCH_PARAMETERS, SEARCH_TOOLS, Wanted, guidance
from registry.loading import code_spec
from registry.schemas import validate_arguments
from registry.selectors import tools_usable_by
from registry.specs import ToolSpec

DESCRIBE_TOOL: Final = "describe_tool"
CALL_TOOL: Final = "call_tool"

_NAME: JsonObject = {
    "type": "string",
    "minLength": 1,
    "maxLength": 200,
    "description": "The name of the tool, as search_tools told it.",
}
_READS = {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False}
_ACTS = {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True}

WIRE: Final[tuple[JsonObject, ...]] = (
    {
        "name": SEARCH_TOOLS,
        "title": "Search tools",
        "description": (
            "Find the tools that can do what is needed: say it in a sentence, or name what you "
            "look for. Look at what describe_tool says of one before you use it with call_tool."
        ),
        "inputSchema": SEARCH_PARAMETERS,
        "annotations": {"title": "Search tools", **_READS},
    },
    {
        "name": DESCRIBE_TOOL,
        "title": "Describe a tool",
        "description": (
            "Tell what a tool takes and gives (its JSON Schemas), what it does to the world, when "
            "to use it, and which variables and scopes it needs."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {"name": _NAME},
            "required": ["name"],
            "additionalProperties": False,
        },
        "annotations": {"title": "Describe a tool", **_READS},
    },
    {
        "name": CALL_TOOL,
        "title": "Call a tool",
        "description": (
            "Call a tool that search_tools found, with arguments that fit its input schema. What "
            "it gives is the tool's own answer."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "name": _NAME,
                "arguments": {
                    "type": "object",
                    "default": {},
                    "description": "What the tool takes, as describe_tool says.",
                },
            },
            "required": ["name"],
            "additionalProperties": False,
        },
        "annotations": {"title": "Call a tool", **_ACTS},
    },
)

ALL_TOLD: Final = (
    "Outfitter keeps tools of many origins (packages, HTTP APIs, other MCP servers and sequences "
    "of these) and runs them under its owners' rules. The tools listed here are those that your "
    "token may use; the list follows changes at once. A result that is an error says what went "
    "wrong and what to do about it. A call may wait for a person's approval."
)
PROGRESSIVE_TOLD: Final = (
    "Outfitter keeps many tools, and this address lists only those that find and call the others. "
    "Say what you need to search_tools, read with describe_tool what one of those found takes, and "
    "use it with call_tool. A result that is an error says what went wrong and what to do about "
    "it. A call may wait for a person's approval."
)
CODE_TOLD: Final = (
    " Where run_code is listed, it runs a Python program that makes several calls for one request."
)


def instructions_of(endpoint: Endpoint) -> str:
    """Return what a client is told of how to use an endpoint."""
    words = PROGRESSIVE_TOLD if endpoint.progressive else ALL_TOLD
    may_run_code = endpoint.agent is None or endpoint.agent.code_execution
    return words + (CODE_TOLD if may_run_code else "")


def meta_tools(endpoint: Endpoint, version: str) -> list[JsonObject]:
    """Return the meta-tools that an endpoint lists, as clients are told of them.

    A progressive endpoint lists these alone; any other only the running of code, where it may.
    """
    code = code_of(endpoint)
    listed = [dict(tool) for tool in WIRE] if endpoint.progressive else []
    return [*listed, *([tool_wire(code, annotations_now(code), version)] if code else [])]


def code_of(endpoint: Endpoint) -> ToolSpec | None:
    """Return the tool that runs programs, where the endpoint's clients may."""
    agent = endpoint.agent
    if agent is not None and not agent.code_execution:
        return None
    code = code_spec()
    if code is None or (agent is not None):
        return code
    usable = tools_usable_by(endpoint.bearer.user).filter(pk=code.tool_id)
    return code if usable.exists() else None


def is_meta(endpoint: Endpoint, name: str) -> bool:
    """Say whether a name is one of the meta-tools that an endpoint may have."""
    return name == RUN_CODE or (
        endpoint.progressive and name in (SEARCH_TOOLS, DESCRIBE_TOOL, CALL_TOOL)
    )


async def meta_call(
    ctx: ServerRequestContext[Any], endpoint: Endpoint, params: types.CallToolRequestParams
) -> Answer | None:
    """Answer a call of a meta-tool; None where the endpoint has none of this name."""
    arguments: JsonObject = params.arguments or {}
    match params.name:
        case name if name == RUN_CODE:
            return await _code_run(ctx, endpoint, arguments, params)
        case _ if not endpoint.progressive:
            return None
        case name if name == SEARCH_TOOLS:
            return await in_thread(_answer, partial(_search, endpoint), SEARCH_TOOLS, arguments)
        case name if name == DESCRIBE_TOOL:
            describe = partial(_describe, endpoint, ctx.protocol_version)
            return await in_thread(_answer, describe, DESCRIBE_TOOL, arguments)
        case name if name == CALL_TOOL:
            return await _call(ctx, endpoint, arguments, params)
    return None


async def _code_run(
    ctx: ServerRequestContext[Any],
    endpoint: Endpoint,
    arguments: JsonObject,
    params: types.CallToolRequestParams,
) -> Answer | None:
    code = await in_thread(code_of, endpoint)
    if code is None:
        return None
    tools = program_tools(endpoint, str(arguments.get("code") or ""))
    return await call_tool(ctx, endpoint, code, arguments, params, tools=tools)


async def _call(
    ctx: ServerRequestContext[Any],
    endpoint: Endpoint,
    arguments: JsonObject,
    params: types.CallToolRequestParams,
) -> Answer:
    try:
        checked = _checked(CALL_TOOL, arguments)
        found = await in_thread(tool_found, endpoint, checked["name"])
        _require_scopes(found)
    except ToolError as error:
        return failure(error)
    return await call_tool(ctx, endpoint, found.spec, checked.get("arguments") or {}, params)


def _answer(
    act: Callable[[JsonObject], JsonObject], name: str, arguments: JsonObject
) -> types.CallToolResult:
    try:
        output = act(_checked(name, arguments))
    except ToolError as error:
        error.tool = error.tool or name
        return failure(error)
    text = types.TextContent(text=json.dumps(output, ensure_ascii=False))
    return types.CallToolResult(content=[text], structured_content=output)


def _search(endpoint: Endpoint, arguments: JsonObject) -> JsonObject:
    return told(tools_found(endpoint, Wanted.of(arguments), arguments["limit"]))


def _describe(endpoint: Endpoint, version: str, arguments: JsonObject) -> JsonObject:
    """Return a tool as `tools/list` has it, with when to use it and what it needs."""
    found = tool_found(endpoint, arguments["name"])
    spec = found.spec
    names = [variable.name for variable in spec.env]
    values = endpoint_context(endpoint).env(names) if names else {}
    return {
        **tool_wire(spec, annotations_now(spec), version),
        "guidance": guidance(spec),
        "variables": [
            {
                "name": variable.name,
                "description": variable.description,
                "required": variable.required,
                "isSet": bool(values.get(variable.name)),
            }
            for variable in spec.env
        ],
        "scopes": sorted(spec.required_scopes),
        "missingScopes": sorted(found.missing),
    }


def _checked(name: str, arguments: JsonObject) -> JsonObject:
    schema = next(tool["inputSchema"] for tool in WIRE if tool["name"] == name)
    try:
        return validate_arguments(schema, arguments)
    except InvalidArguments as error:
        error.tool = name
        raise


def _require_scopes(found: Found) -> None:
    if found.missing:
        scopes = sorted(found.missing)
        raise PermissionRefused(
            f"{found.spec.wire_name} requires the scope {', '.join(scopes)}.",
            "Ask for a token that has it, or use another tool.",
            tool=found.spec.wire_name,
            missing_scopes=scopes,
        )
