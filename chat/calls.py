"""Run the tool calls of one message side by side, and tell what happens as it happens."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from chat.answers import Answer
from chat.llm import ToolCallReady
from chat.pauses import Pause
from config.lib.types import JsonObject
from registry.context import Progress
from registry.errors import InvalidArguments


class Tools(Protocol):
    """What the model may call; the set may grow during a turn."""

    def schemas(self) -> list[JsonObject]:
        """Return the tools in the shape of OpenAI's chat completions."""

    async def call(
        self, call: ToolCallReady, arguments: JsonObject, progress: Progress
    ) -> Answer | Pause:
        """Run a tool; what goes wrong with it is an answer too."""


@dataclass(frozen=True)
class CallProgressed:
    """A running tool told how far it is."""

    call: ToolCallReady
    note: JsonObject


@dataclass(frozen=True)
class CallEnded:
    """A tool call has its answer; `place` is its place among the calls of the message."""

    call: ToolCallReady
    place: int
    answer: Answer


@dataclass(frozen=True)
class CallPaused:
    """A tool call waits for a person."""

    call: ToolCallReady
    pause: Pause


Happened = CallProgressed | CallEnded | CallPaused

Due = tuple[int, ToolCallReady, Answer | None]
"""A call with its place among those of the message, and its answer where it is not to be run."""


async def run_calls(due: Sequence[Due], tools: Tools) -> AsyncIterator[Happened]:
    """Run calls and yield what happens; each of them ends or pauses, whatever the others do."""
    happened: asyncio.Queue[Happened | Exception] = asyncio.Queue()
    running = [
        asyncio.create_task(_run_call(place, call, given, tools, happened.put_nowait))
        for place, call, given in due
    ]
    try:
        open_calls = len(running)
        while open_calls:
            event = await happened.get()
            if isinstance(event, Exception):
                raise event
            open_calls -= not isinstance(event, CallProgressed)
            yield event
    finally:
        for task in running:
            task.cancel()


def parsed(arguments: str) -> tuple[JsonObject, InvalidArguments | None]:
    """Return the arguments as an object, and the problem if they are none."""
    if not arguments.strip():
        return {}, None
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError) as problem:
        words = f"The arguments are not valid JSON: {problem}."
    else:
        if isinstance(value, dict):
            return value, None
        words = "The arguments are JSON, but not an object."
    return {}, InvalidArguments(
        words,
        'Call the tool again with one JSON object, such as {"name": "value"}.',
        received=arguments[:500],
    )


async def _run_call(
    place: int,
    call: ToolCallReady,
    given: Answer | None,
    tools: Tools,
    tell: Callable[[Happened | Exception], None],
) -> None:
    loop = asyncio.get_running_loop()

    def progress(note: JsonObject) -> None:
        """Take a note from the tool's thread."""
        loop.call_soon_threadsafe(tell, CallProgressed(call, note))

    try:
        outcome = given or await _outcome(call, tools, progress)
    except Exception as failure:
        tell(failure)
    else:
        if isinstance(outcome, Pause):
            tell(CallPaused(call, outcome))
        else:
            tell(CallEnded(call, place, outcome))


async def _outcome(call: ToolCallReady, tools: Tools, progress: Progress) -> Answer | Pause:
    arguments, problem = parsed(call.arguments)
    if problem:
        return Answer.failed(problem, tool=call.name)
    return await tools.call(call, arguments, progress)
