"""What our MCP server is compared with: one tool on a bare server of the SDK, and nothing else.

No token, no rights, no record: the SDK's own HTTP application around one function.
"""

import json
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from starlette.requests import Request
from starlette.responses import PlainTextResponse

from registry.builtins import BUILTINS

CALCULATOR = BUILTINS["calculator"]


async def _listed(_: ServerRequestContext[Any], __: Any) -> types.ListToolsResult:
    tool = types.Tool(
        name=CALCULATOR.name,
        description=CALCULATOR.description,
        input_schema=dict(CALCULATOR.input_schema),
    )
    return types.ListToolsResult(tools=[tool])


async def _called(
    _: ServerRequestContext[Any], params: types.CallToolRequestParams
) -> types.CallToolResult:
    answer = CALCULATOR.run(params.arguments or {})
    text = json.dumps(answer)
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=answer)


async def _healthz(_: Request) -> PlainTextResponse:
    return PlainTextResponse("ok")


app = Server("bare", on_list_tools=_listed, on_call_tool=_called).streamable_http_app()
app.add_route("/healthz", _healthz)
