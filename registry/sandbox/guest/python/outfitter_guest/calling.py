"""Call a package's functions, whatever they take and whether they are async or not."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol

Json = dict[str, Any]
Answer = tuple[Any, list[Json]]
"""A tool's output, and the artifacts it saved."""


class GuestTool(Protocol):
    """A tool that was found."""

    export: str
    aliases: list[str]

    def describe(self) -> Json:
        """Return `{description, inputSchema, …}`; raises for a tool that cannot be described."""

    def call(self, arguments: Json) -> Answer:
        """Run the tool."""


class NotOffered(Exception):
    """The tool `name` does not offer itself with the present configuration."""

    def __init__(self, reason: str, name: str) -> None:
        self.name = name
        super().__init__(reason)


async def settled(value: Any) -> Any:
    """Wait for what has to be waited for, and gather what comes in pieces."""
    if inspect.isawaitable(value):
        value = await value
    if isinstance(value, AsyncIterator):
        return [item async for item in value]
    return value


def run(function: Callable[[], Any]) -> Any:
    """Call a function; only if it turns out to be async is there a loop around it."""
    value = function()
    if inspect.isawaitable(value) or isinstance(value, AsyncIterator):
        return asyncio.run(settled(value))
    return value


def with_as_many(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function with as many of the arguments, from the left, as it takes."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return function(*arguments)
    for count in range(len(arguments), -1, -1):
        try:
            signature.bind(*arguments[:count])
        except TypeError:
            continue
        return function(*arguments[:count])
    return function(*arguments)
