"""Tool calls for models that know none: told and written in words.

The tools stand in the system message, the model writes each call as a fenced block of JSON, and
what the tool gave comes back as a message of the user.
"""

import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field

from chat.llm import ModelEvent, TextDelta, ToolCallReady
from chat.llm.calls import NAMELESS, call_id, call_name
from config.lib.types import JsonObject, JsonValue

FENCE = "```tool_call"
"""Begins a call, at the start of a line."""

_RULES = """# Calling tools

You cannot call tools in any other way than this. To call one, end your message with a block:

```tool_call
{"name": "name_of_the_tool", "arguments": {"argument": "value"}}
```

`arguments` is one JSON object that keeps to the tool's schema. Write one block for each call, \
several blocks to run tools side by side. Write nothing behind the blocks and never guess a \
result: the results come in the next message. When you need no tool, answer in words.

The tools, one a line:
"""

_ANSWER_NOW = "Tools cannot be called any more: answer in words with what you have."

_NAME = re.compile(r'"name"\s*:\s*"([^"\\]{1,200})"')
_END_OF_BLOCK = re.compile(r"^[ \t]*```", re.MULTILINE)


def told(
    messages: Sequence[JsonObject], tools: Sequence[JsonObject], *, answer_only: bool
) -> list[JsonObject]:
    """Return the messages as a model without tools reads them: words of the system, the user and
    the assistant, in turns."""
    names: dict[str, str] = {}
    said: list[JsonObject] = []
    for message in messages:
        for call in message.get("tool_calls") or ():
            names[call["id"]] = call["function"]["name"]
        _add(said, _in_words(message, names))
    rules = _ANSWER_NOW if answer_only else _described(tools) if tools else ""
    if not rules:
        return said
    if said and said[0]["role"] == "system":
        return [{"role": "system", "content": f"{said[0]['content']}\n\n{rules}"}, *said[1:]]
    return [{"role": "system", "content": rules}, *said]


async def heard(events: AsyncIterator[ModelEvent]) -> AsyncIterator[ModelEvent]:
    """Pass on what a model says, with the blocks in it turned into tool calls."""
    reader = Reader()
    ended: list[ModelEvent] = []
    async for event in events:
        if isinstance(event, TextDelta):
            if words := reader.take(event.text):
                yield TextDelta(words)
        else:
            ended.append(event)  # usage; it comes last
    if words := reader.rest():
        yield TextDelta(words)
    for call in reader.calls():
        yield call
    for event in ended:
        yield event


@dataclass
class Reader:
    """Reads a message as it comes: words first, then blocks, which are held back.

    What stands behind the first block and is no block is not passed on: models that go on there
    make up what the tool gave.
    """

    _held: str = ""
    _blocks: str | None = None
    _at_start: bool = field(default=True)

    def take(self, text: str) -> str:
        """Take some more text; return the words that are certain to stand before any block."""
        if self._blocks is not None:
            self._blocks += text
            return ""
        held = self._held + text
        place = _fence_in(held, at_start=self._at_start)
        if place is not None:
            self._held, self._blocks = "", held[place:]
            return self._passed(held[:place].rstrip())
        certain = _certain(held, at_start=self._at_start)
        self._held = held[certain:]
        return self._passed(held[:certain])

    def rest(self) -> str:
        """Return the words that were held back and turned out to be words."""
        held, self._held = self._held, ""
        return held

    def calls(self) -> list[ToolCallReady]:
        """Return the calls that were written."""
        return [call for block in _blocks_in(self._blocks or "") for call in _calls_in(block)]

    def _passed(self, words: str) -> str:
        if words:
            self._at_start = words.endswith("\n")
        return words


def _described(tools: Sequence[JsonObject]) -> str:
    lines = [json.dumps(tool["function"], ensure_ascii=False) for tool in tools]
    return _RULES + "\n".join(lines)


def _in_words(message: JsonObject, names: dict[str, str]) -> JsonObject:
    if message["role"] == "tool":
        name = names.get(message["tool_call_id"], "the tool")
        return {"role": "user", "content": f"[Result of {name}]\n{message['content']}"}
    content = message.get("content") or ""
    blocks = [_written(call["function"]) for call in message.get("tool_calls") or ()]
    return {"role": message["role"], "content": "\n\n".join([*filter(None, [content]), *blocks])}


def _written(function: JsonObject) -> str:
    arguments = json.loads(function["arguments"])
    call = json.dumps({"name": function["name"], "arguments": arguments}, ensure_ascii=False)
    return f"{FENCE}\n{call}\n```"


def _add(said: list[JsonObject], message: JsonObject) -> None:
    """Add a message; results side by side become one, as such models expect turns to alternate."""
    if said and message["role"] == "user" and said[-1]["role"] == "user":
        said[-1] = {**message, "content": f"{said[-1]['content']}\n\n{message['content']}"}
    else:
        said.append(message)


def _fence_in(text: str, *, at_start: bool) -> int | None:
    """Return where the first fence stands that begins a line."""
    place = text.find(FENCE)
    while place >= 0:
        line = text.rfind("\n", 0, place) + 1
        if not text[line:place].strip() and (line > 0 or at_start):
            return line
        place = text.find(FENCE, place + 1)
    return None


def _certain(text: str, *, at_start: bool) -> int:
    """Return up to where the text cannot be the beginning of a block."""
    line = text.rfind("\n") + 1
    begun = text[line:].lstrip(" \t")
    if (line == 0 and not at_start) or not FENCE.startswith(begun):
        return len(text)
    # the empty lines before a block go with it
    return len(text[:line].rstrip())


def _blocks_in(text: str) -> Iterator[str]:
    """Yield what stands in each block; the last may lack its end."""
    while (begin := _fence_in(text, at_start=True)) is not None:
        text = text[begin:].lstrip().removeprefix(FENCE)
        value, end = _json_at(text)
        if value is None:
            closing = _END_OF_BLOCK.search(text)
            end = closing.start() if closing else len(text)
        yield text[:end].strip()
        text = text[end:]


def _json_at(text: str) -> tuple[JsonValue, int]:
    """Return the JSON that a text begins with and where it ends; None where it begins with none."""
    start = len(text) - len(text.lstrip("s \t\r\n"))  # “tool_calls” is a slip of some models
    try:
        return json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, 0


def _calls_in(block: str) -> Iterator[ToolCallReady]:
    """Yield the calls of a block; one that is no call becomes a call with broken arguments."""
    value, _ = _json_at(block)
    for call in value if isinstance(value, list) and value else [value]:
        if isinstance(call, dict) and isinstance(name := call.get("name"), str):
            arguments = call.get("arguments", {})
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            yield ToolCallReady(call_id(), call_name(name), text)
        else:
            named = _NAME.search(block)
            yield ToolCallReady(call_id(), call_name(named[1] if named else NAMELESS), block)
