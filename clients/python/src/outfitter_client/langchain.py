"""A toolset as LangChain's `StructuredTool`s; needs the extra `langchain`.

agent = create_agent(model, tools=langchain_tools(outfitter))
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from typing import Any

from langchain_core.tools import StructuredTool, ToolException

from outfitter_client.aio import AsyncOutfitter
from outfitter_client.errors import OutfitterError
from outfitter_client.naming import fitting_names
from outfitter_client.shapes import Tool
from outfitter_client.sync import Outfitter


class OutfitterTool(StructuredTool):
    """A tool whose arguments may have any name: LangChain's own takes `config` and others away."""

    def _run(self, /, *_args: Any, **arguments: Any) -> Any:
        if self.func is None:
            raise NotImplementedError("This tool is of an asynchronous client: use ainvoke.")
        return self.func(**arguments)

    async def _arun(self, /, *_args: Any, **arguments: Any) -> Any:
        if self.coroutine is None:
            return await asyncio.to_thread(self._run, **arguments)
        return await self.coroutine(**arguments)


def langchain_tools(
    outfitter: Outfitter,
    tools: Iterable[Tool] | None = None,
    *,
    asynchronous: AsyncOutfitter | None = None,
) -> list[StructuredTool]:
    """Return tools for a LangChain agent: those that may be used now, or the ones given.

    `ainvoke` calls through `asynchronous` where it is given, else in a thread. A call that fails
    is told to the model in words, so that it can correct itself.
    """
    told = {tool.name: tool for tool in (outfitter.discover() if tools is None else tools)}
    return [
        _structured(name, told[own], outfitter, asynchronous)
        for name, own in fitting_names(told).items()
    ]


async def alangchain_tools(
    outfitter: AsyncOutfitter, tools: Iterable[Tool] | None = None
) -> list[StructuredTool]:
    """Return the same for an asynchronous client; these have `ainvoke` alone."""
    told = {tool.name: tool for tool in (await outfitter.discover() if tools is None else tools)}
    return [
        _structured(name, told[own], None, outfitter) for name, own in fitting_names(told).items()
    ]


def _structured(
    name: str, tool: Tool, outfitter: Outfitter | None, asynchronous: AsyncOutfitter | None
) -> StructuredTool:
    return OutfitterTool(
        name=name,
        description=tool.description,
        args_schema={"title": name, **tool.input_schema},
        func=_sync(outfitter, tool.name) if outfitter else None,
        coroutine=_async(asynchronous, tool.name) if asynchronous else None,
        handle_tool_error=True,
        metadata={"outfitter_tool": tool.name, "scopes": list(tool.scopes)},
    )


def _sync(outfitter: Outfitter, name: str) -> Callable[..., Any]:
    def call(**arguments: Any) -> Any:
        try:
            return outfitter.call(name, **arguments)
        except OutfitterError as error:
            raise ToolException(json.dumps(error.as_dict(), ensure_ascii=False)) from error

    return call


def _async(outfitter: AsyncOutfitter, name: str) -> Callable[..., Any]:
    async def call(**arguments: Any) -> Any:
        try:
            return await outfitter.call(name, **arguments)
        except OutfitterError as error:
            raise ToolException(json.dumps(error.as_dict(), ensure_ascii=False)) from error

    return call
