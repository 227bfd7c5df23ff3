"""A toolset in the format of OpenAI's tools, for any client that speaks it.

    tools = OpenAITools(outfitter)
    answer = openai.chat.completions.create(model=…, messages=messages, tools=tools.tools())
    messages += tools.run_tool_calls(answer.choices[0].message)

Nothing of the package `openai` is needed: messages are its objects, or plain dictionaries.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from typing import Any

from outfitter_client.aio import AsyncOutfitter
from outfitter_client.errors import InvalidRequest, OutfitterError
from outfitter_client.naming import fitting_names
from outfitter_client.shapes import Found, Tool
from outfitter_client.sync import Outfitter
from outfitter_client.wire import JsonObject

SEARCH = "search_tools"
_SEARCH_TOOL: JsonObject = {
    "type": "function",
    "function": {
        "name": SEARCH,
        "description": "Find tools by what they are needed for. Call what was found by its name.",
        "parameters": {
            "type": "object",
            "properties": {"query": {"type": "string", "description": "What is needed."}},
            "required": ["query"],
        },
    },
}
MOST_FOUND = 5


class _Offer:
    """Which tools the model is told of, and by which names it calls them."""

    def __init__(self, *, search: bool) -> None:
        self._search = search
        self._found: dict[str, Tool] = {}

    def _tools(self, discovered: Iterable[Tool]) -> list[JsonObject]:
        told = self._found.values() if self._search else discovered
        named = {tool.name: tool for tool in told}
        listed = [_function(name, named[own]) for name, own in fitting_names(named).items()]
        return [_SEARCH_TOOL, *listed] if self._search else listed

    def _own_name(self, name: str, discovered: Iterable[Tool]) -> str:
        told = self._found if self._search else [tool.name for tool in discovered]
        return fitting_names(told).get(name, name)

    def _searches(self, name: str) -> bool:
        return self._search and name == SEARCH

    def _take(self, found: Iterable[Found]) -> list[JsonObject]:
        tools = [each.tool for each in found]
        self._found |= {tool.name: tool for tool in tools}
        names = {own: name for name, own in fitting_names(self._found).items()}
        return [{"name": names[tool.name], "description": tool.description} for tool in tools]


class OpenAITools(_Offer):
    """The tools of a client; with `search`, `search_tools` and what it has found so far."""

    def __init__(self, outfitter: Outfitter, *, search: bool = False) -> None:
        """Offer the client's tools."""
        super().__init__(search=search)
        self._outfitter = outfitter

    def tools(self) -> list[JsonObject]:
        """Return what to send as `tools`: what may be used now, asked anew each time."""
        return self._tools(() if self._search else self._outfitter.discover())

    def run_tool_calls(self, message: Any) -> list[JsonObject]:
        """Make the calls that a model's message asks for; return the messages that answer it.

        The first of them is the model's own message. A call that fails is answered with its
        error, so that the model can correct itself.
        """
        return [_as_dict(message), *(_answer(call, self._run(call)) for call in _calls_of(message))]

    def _run(self, call: JsonObject) -> Any:
        try:
            name, arguments = _asked(call)
            if self._searches(name):
                query = str(arguments.get("query", ""))
                return self._take(self._outfitter.search(query, limit=MOST_FOUND))
            return self._outfitter.call(self._own_name(name, self._outfitter.tools), **arguments)
        except OutfitterError as error:
            return {"error": error.as_dict()}


class AsyncOpenAITools(_Offer):
    """The same for an asynchronous client; the calls of one message are made side by side."""

    def __init__(self, outfitter: AsyncOutfitter, *, search: bool = False) -> None:
        """Offer the client's tools."""
        super().__init__(search=search)
        self._outfitter = outfitter

    async def tools(self) -> list[JsonObject]:
        """Return what to send as `tools`: what may be used now, asked anew each time."""
        return self._tools(() if self._search else await self._outfitter.discover())

    async def run_tool_calls(self, message: Any) -> list[JsonObject]:
        """Make the calls that a model's message asks for; return the messages that answer it."""
        calls = _calls_of(message)
        outputs = await asyncio.gather(*(self._run(call) for call in calls))
        return [_as_dict(message), *map(_answer, calls, outputs)]

    async def _run(self, call: JsonObject) -> Any:
        try:
            name, arguments = _asked(call)
            if self._searches(name):
                query = str(arguments.get("query", ""))
                return self._take(await self._outfitter.search(query, limit=MOST_FOUND))
            own = self._own_name(name, self._outfitter.tools)
            return await self._outfitter.call(own, **arguments)
        except OutfitterError as error:
            return {"error": error.as_dict()}


def _function(name: str, tool: Tool) -> JsonObject:
    parameters = dict(tool.input_schema) or {"type": "object", "properties": {}}
    function = {"name": name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


def _as_dict(message: Any) -> JsonObject:
    if isinstance(message, Mapping):
        return dict(message)
    told: JsonObject = message.model_dump(exclude_none=True)
    return told


def _calls_of(message: Any) -> list[JsonObject]:
    return list(_as_dict(message).get("tool_calls") or ())


def _asked(call: JsonObject) -> tuple[str, JsonObject]:
    function = call["function"]
    try:
        arguments = json.loads(function.get("arguments") or "{}")
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        raise InvalidRequest(
            "The arguments are no JSON object.", "Send them anew.", code="invalid_arguments"
        )
    return function["name"], arguments


def _answer(call: JsonObject, output: Any) -> JsonObject:
    content = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
    return {"role": "tool", "tool_call_id": call["id"], "content": content}
