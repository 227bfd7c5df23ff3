"""The agentic loop: ask the model, run the tools it calls, ask again, until it answers.

It knows no database and no provider: the model and the tools are passed in, and what happens
comes out as events, so that a turn can be recorded, shown and tested from the same stream. Where
calls wait for a person it ends, and is begun again from what was recorded.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import uuid4

from chat.answers import Answer
from chat.calls import CallEnded, CallPaused, CallProgressed, Due, Tools, parsed, run_calls
from chat.errors import CallRepeated, StepLimitReached
from chat.habits import Habits, Step
from chat.llm import ModelEvent, TextDelta, ToolCallReady, Usage
from config.lib.types import JsonObject, JsonValue

MAX_STEPS = 8
"""Model calls in one turn."""


class Model(Protocol):
    """Asks a model; `chat.llm.stream` with the model's name filled in."""

    def __call__(
        self,
        messages: Sequence[JsonObject],
        tools: Sequence[JsonObject],
        *,
        answer_only: bool,
    ) -> AsyncIterator[ModelEvent]: ...


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
class Paused:
    """Some calls of the last message wait for a person; its other calls have their answers."""

    calls: tuple[CallPaused, ...]


@dataclass(frozen=True)
class Finished:
    """The model answered."""

    usage: Usage


LoopEvent = (
    TextDelta | Usage | Said | CallStarted | CallProgressed | CallEnded | CallPaused | Paused
) | Finished


@dataclass(frozen=True, kw_only=True)
class Begun:
    """What a turn that is taken up again has behind it.

    `steps` counts its model calls, `ids` are those of all its tool calls, `past` are the calls of
    the messages before. `said` is the message whose calls are not all answered, if there is one,
    and `answers` what the model reads of those that are, by their place in it; it is not among the
    messages that `run` is given.
    """

    steps: int = 0
    ids: frozenset[str] = frozenset()
    past: Sequence[Step] = ()
    said: Said | None = None
    answers: Mapping[int, str] = field(default_factory=dict)


async def run(
    messages: Sequence[JsonObject],
    *,
    model: Model,
    tools: Tools,
    max_steps: int = MAX_STEPS,
    begun: Begun | None = None,
) -> AsyncIterator[LoopEvent]:
    """Drive one turn to its answer, or to where it waits for a person.

    Raises what the model raises, StepLimitReached when `max_steps` model calls bring no answer,
    TooManyMalformedCalls, and ModelLoops.
    """
    begun = begun or Begun()
    messages = list(messages)
    usage, step = Usage(), begun.steps
    habits = Habits(begun.past)
    seen = set(begun.ids)
    said, answers = begun.said, dict(begun.answers)
    while True:
        taken_up = said is not None
        if said is None:
            if step >= max_steps:
                raise StepLimitReached(
                    f"The agent made {max_steps} model calls without coming to an answer."
                )
            step += 1
            heard = _Heard(seen)
            async for event in model(messages, tools.schemas(), answer_only=step == max_steps):
                heard.take(event)
                if not isinstance(event, ToolCallReady):
                    yield event
            usage += heard.usage
            said = heard.said()
            yield said
        if not said.calls:
            yield Finished(usage)
            return
        paused: list[CallPaused] = []
        due = _due(said.calls, answers, habits)
        for _, call, _ in () if taken_up else due:
            yield CallStarted(call)
        async for happened in run_calls(due, tools):
            match happened:
                case CallEnded(_, place, answer):
                    answers[place] = answer.for_model()
                case CallPaused():
                    paused.append(happened)
            yield happened
        if paused:
            yield Paused(tuple(paused))
            return
        for place, call in enumerate(said.calls):
            habits.answered(call, answers[place])
        habits.end_step()
        messages += [
            assistant_message(said.text, said.calls),
            *(tool_message(call.id, answers[place]) for place, call in enumerate(said.calls)),
        ]
        said, answers = None, {}


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


class _Heard:
    """Takes in what the model says in one message."""

    def __init__(self, seen: set[str]) -> None:
        self._words: list[str] = []
        self._calls: list[ToolCallReady] = []
        self._seen = seen
        self.usage = Usage()

    def take(self, event: ModelEvent) -> None:
        match event:
            case TextDelta(text):
                self._words.append(text)
            case ToolCallReady():
                self._calls.append(_unique(event, self._seen))
            case Usage():
                self.usage += event

    def said(self) -> Said:
        return Said("".join(self._words), tuple(self._calls))


def _due(calls: Sequence[ToolCallReady], answers: Mapping[int, str], habits: Habits) -> list[Due]:
    """Return the calls that are not answered; what was done often enough has its answer."""
    due: list[Due] = []
    for place, call in enumerate(calls):
        note = habits.repeated(call)
        if place not in answers:
            given = Answer.failed(CallRepeated(note), tool=call.name) if note else None
            due.append((place, call, given))
    return due
