"""The agentic loop: ask the model, run the tools it calls, ask again, until it answers.

It knows no database and no provider: the model and the tools are passed in, and what happens
comes out as events, so that a turn can be recorded, shown and tested from the same stream.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import uuid4

from chat.answers import Answer
from chat.errors import StepLimitReached, TooManyMalformedCalls
from chat.llm import (
    Compacted,
    ModelEvent,
    Notice,
    Retried,
    Switched,
    TextDelta,
    ToolCallDraft,
    ToolCallReady,
    Usage,
)
from config.lib.types import JsonObject, JsonValue
from registry.context import Progress
from registry.errors import InvalidArguments

MAX_STEPS = 8
"""Model calls in one turn."""

MAX_MALFORMED = 3
"""Calls with arguments that are not JSON, after which the model is given up on."""


class Model(Protocol):
    """Asks a model; `chat.asking.Asking` of a turn."""

    def __call__(
        self,
        messages: Sequence[JsonObject],
        tools: Sequence[JsonObject],
        *,
        answer_only: bool,
    ) -> AsyncIterator[ModelEvent | Notice]: ...


class Tools(Protocol):
    """What the model may call; the set may grow during a turn."""

    def schemas(self) -> list[JsonObject]:
        """Return the tools in the shape of OpenAI's chat completions."""

    async def call(self, name: str, arguments: JsonObject, progress: Progress) -> Answer:
        """Run a tool; what goes wrong with it is an answer too."""


@dataclass(frozen=True)
class Said:
    """The model finished a message: words, tool calls or both."""

    text: str
    calls: tuple[ToolCallReady, ...]


@dataclass(frozen=True)
class CallStarted:
    """A tool call was handed to its tool."""

    call: ToolCallReady


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
class Finished:
    """The model answered."""

    usage: Usage


LoopEvent = (
    TextDelta
    | ToolCallDraft
    | Notice
    | Usage
    | Said
    | CallStarted
    | CallProgressed
    | CallEnded
    | Finished
)


async def run(
    messages: Sequence[JsonObject], *, model: Model, tools: Tools, max_steps: int = MAX_STEPS
) -> AsyncIterator[LoopEvent]:
    """Drive one turn to its answer.

    Raises what the model raises, StepLimitReached when `max_steps` model calls bring no answer,
    and TooManyMalformedCalls.
    """
    messages = list(messages)
    usage = Usage()
    malformed = 0
    seen: set[str] = set()
    for step in range(1, max_steps + 1):
        words: list[str] = []
        calls: list[ToolCallReady] = []
        async for event in model(messages, tools.schemas(), answer_only=step == max_steps):
            match event:
                case TextDelta(text):
                    words.append(text)
                    yield event
                case ToolCallReady():
                    calls.append(_unique(event, seen))
                case Usage():
                    usage += event
                    yield event
                case ToolCallDraft() | Retried() | Switched() | Compacted():
                    yield event
        said = Said("".join(words), tuple(calls))
        yield said
        if not calls:
            yield Finished(usage)
            return
        answers: dict[int, Answer] = {}
        async for happened in _run_calls(said.calls, tools):
            if isinstance(happened, CallEnded):
                answers[happened.place] = happened.answer
            yield happened
        malformed += sum(parsed(call.arguments)[1] is not None for call in calls)
        if malformed >= MAX_MALFORMED:
            raise TooManyMalformedCalls
        messages += [
            assistant_message(said.text, said.calls),
            *(tool_message(call.id, answers[i].for_model()) for i, call in enumerate(calls)),
        ]
    raise StepLimitReached(f"The agent made {max_steps} model calls without coming to an answer.")


def assistant_message(text: str, calls: Sequence[ToolCallReady]) -> JsonObject:
    """Return what the model said, as it is told again.

    Providers that parse arguments refuse broken ones, so those are left out; the tool's answer
    quotes them.
    """
    message: JsonObject = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": "{}" if parsed(call.arguments)[1] else call.arguments or "{}",
                },
            }
            for call in calls
        ]
    return message


def tool_message(call_id: str, content: str) -> JsonObject:
    """Return a tool's answer as the model is told it."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


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


def readable(arguments: str) -> JsonValue:
    """Return the arguments as an object for people and programs, or the text if they are none."""
    value, problem = parsed(arguments)
    return arguments if problem else value


def _unique(call: ToolCallReady, seen: set[str]) -> ToolCallReady:
    """Return the call under an id that no other call of the turn has."""
    if call.id in seen:
        call = ToolCallReady(f"call_{uuid4().hex}", call.name, call.arguments)
    seen.add(call.id)
    return call


async def _run_calls(
    calls: Sequence[ToolCallReady], tools: Tools
) -> AsyncIterator[CallStarted | CallProgressed | CallEnded]:
    """Run the calls of one message side by side and yield what happens as it happens."""
    happened: asyncio.Queue[CallProgressed | CallEnded | Exception] = asyncio.Queue()
    for call in calls:
        yield CallStarted(call)
    running = [
        asyncio.create_task(_run_call(place, call, tools, happened.put_nowait))
        for place, call in enumerate(calls)
    ]
    try:
        open_calls = len(calls)
        while open_calls:
            event = await happened.get()
            if isinstance(event, Exception):
                raise event
            open_calls -= isinstance(event, CallEnded)
            yield event
    finally:
        for task in running:
            task.cancel()


async def _run_call(
    place: int,
    call: ToolCallReady,
    tools: Tools,
    tell: Callable[[CallProgressed | CallEnded | Exception], None],
) -> None:
    loop = asyncio.get_running_loop()

    def progress(note: JsonObject) -> None:
        """Take a note from the tool's thread."""
        loop.call_soon_threadsafe(tell, CallProgressed(call, note))

    arguments, problem = parsed(call.arguments)
    try:
        answer = (
            Answer.failed(problem, tool=call.name)
            if problem
            else await tools.call(call.name, arguments, progress)
        )
    except Exception as failure:
        tell(failure)
    else:
        tell(CallEnded(call, place, answer))
