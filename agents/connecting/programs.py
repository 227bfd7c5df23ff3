"""How programs of one's own connect: curl and Python."""

import json
import shlex
from collections.abc import Mapping

from agents.connecting.clients import MODERN
from agents.connecting.place import Place
from agents.connecting.snippets import (
    PLACEHOLDER,
    VARIABLE,
    Client,
    Snippet,
    exported,
    shell_snippet,
)
from config.lib.types import JsonObject, JsonValue

Called = tuple[str, Mapping[str, JsonValue]]
"""The tool that examples call, and with what."""


def programs_for(place: Place, token: str = "", called: Called | None = None) -> list[Client]:
    """Return what programs need for an address, with this token in it."""
    token, called = token or PLACEHOLDER, called or ("TOOL", {})
    return [
        Client(
            key="curl",
            name="curl, MCP",
            how=f"Since {MODERN} there is no handshake: each request stands alone.",
            snippets=(
                shell_snippet(exported(token), where="First"),
                _curl(place, "tools/list", {}, "List the tools"),
                _curl(
                    place,
                    "tools/call",
                    {"name": called[0], "arguments": dict(called[1])},
                    "Call one",
                ),
            ),
        ),
        Client(
            key="rest",
            name="curl, REST",
            how="The answer of a call is the tool's output and nothing else.",
            snippets=(
                shell_snippet(exported(token), where="First"),
                *_rest(place, called),
            ),
        ),
        Client(
            key="python",
            name="Python",
            how=f"Each reads the token from {VARIABLE}.",
            snippets=(
                shell_snippet(exported(token), where="First"),
                _outfitter(place, called),
                _sdk(place, called),
                _openai(place),
                _langchain(place),
            ),
        ),
    ]


def _curl(place: Place, method: str, params: JsonObject, where: str) -> Snippet:
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta, **params}}
    name = params.get("name")
    headers = [
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"MCP-Protocol-Version: {MODERN}",
        f"Mcp-Method: {method}",
        *([f"Mcp-Name: {name}"] if name else []),
    ]
    return shell_snippet(
        f"curl {shlex.quote(place.url)} \\",
        f'  -H "Authorization: Bearer ${VARIABLE}" \\',
        *(f"  -H {shlex.quote(header)} \\" for header in headers),
        f"  -d {shlex.quote(json.dumps(message))}",
        where=where,
    )


def _rest(place: Place, called: Called) -> list[Snippet]:
    api = f"{place.site}/api/v1/discovery/"
    agent = f"?agent={place.slug}" if place.slug else ""
    authorization = f'  -H "Authorization: Bearer ${VARIABLE}"'
    return [
        shell_snippet(
            f"curl {shlex.quote(f'{api}{agent}')} \\", authorization, where="List the tools"
        ),
        shell_snippet(
            f"curl {shlex.quote(f'{api}tools/{called[0]}/{agent}')} \\",
            f"{authorization} \\",
            "  -H 'Content-Type: application/json' \\",
            f"  -d {shlex.quote(json.dumps(dict(called[1])))}",
            where="Call one",
        ),
    ]


def _python(where: str, *lines: str) -> Snippet:
    return Snippet(where=where, language="python", text="\n".join(lines))


def _made(place: Place) -> str:
    agent = f", agent={place.slug!r}" if place.slug else ""
    return f'outfitter = Outfitter({place.site!r}, token=os.environ["{VARIABLE}"]{agent})'


def _outfitter(place: Place, called: Called) -> Snippet:
    return _python(
        "Python, this server's own client",
        "import os",
        "from outfitter_client import Outfitter",
        "",
        _made(place),
        "for tool in outfitter.discover():",
        "    print(tool.name, tool.description)",
        f"print(outfitter.call_with({called[0]!r}, {dict(called[1])!r}).output)",
    )


def _sdk(place: Place, called: Called) -> Snippet:
    return _python(
        "Python, the official MCP SDK",
        "import asyncio, os",
        "import httpx2",
        "from mcp import Client",
        "from mcp.client.streamable_http import streamable_http_client",
        "",
        "async def main():",
        f'    headers = {{"Authorization": f"Bearer {{os.environ[\'{VARIABLE}\']}}"}}',
        "    async with (",
        "        httpx2.AsyncClient(headers=headers, timeout=60) as http,",
        f"        Client(streamable_http_client({place.url!r}, http_client=http)) as client,",
        "    ):",
        "        print([tool.name for tool in (await client.list_tools()).tools])",
        f"        print(await client.call_tool({called[0]!r}, {dict(called[1])!r}))",
        "",
        "asyncio.run(main())",
    )


def _openai(place: Place) -> Snippet:
    return _python(
        "Python, any OpenAI-compatible model",
        "import os",
        "from outfitter_client import Outfitter",
        "from outfitter_client.openai import OpenAITools",
        "",
        _made(place),
        "tools = OpenAITools(outfitter)",
        "print(tools.tools())  # tools=… of chat.completions.create",
        "# messages += tools.run_tool_calls(answer.choices[0].message)",
    )


def _langchain(place: Place) -> Snippet:
    return _python(
        "Python, LangChain",
        "import os",
        "from outfitter_client import Outfitter",
        "from outfitter_client.langchain import langchain_tools",
        "",
        _made(place),
        "tools = langchain_tools(outfitter)",
        "print([tool.name for tool in tools])  # create_agent(model, tools=tools)",
    )
