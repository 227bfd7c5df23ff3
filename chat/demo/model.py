"""Decide what the demo model says next."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from chat.demo.arguments import arguments_for
from chat.demo.choice import chosen
from chat.demo.drafting import proposal, tools_told
from chat.demo.telling import told
from config.lib.types import JsonObject
from registry.code_tool import RUN_CODE
from registry.finding import SEARCH_TOOLS
from registry.questions import ASK_USER
from registry.search.tokens import query_terms
from sequences.proposals import PROPOSE

TOOLS_NAMED = 8

_PROGRAM = re.compile(r"```python\n(.*?)(?:```|\Z)", re.DOTALL)
"""A program that the person wrote: this model writes none of its own."""

Call = tuple[str, str]
"""A tool's name and the JSON text of its arguments."""


@dataclass(frozen=True)
class Reply:
    """Words, or calls of tools."""

    text: str = ""
    calls: tuple[Call, ...] = ()


def reply_to(messages: Sequence[JsonObject], tools: Sequence[JsonObject]) -> Reply:
    """Return the next message of a conversation in the shape of OpenAI's chat completions."""
    start = max(i for i, message in enumerate(messages) if message["role"] == "user")
    said = str(messages[start]["content"])
    calls, answers = _since(messages[start + 1 :])
    offered = [tool["function"] for tool in tools]
    own = [tool for tool in offered if tool["name"] not in {SEARCH_TOOLS, ASK_USER, RUN_CODE}]
    names = {tool["name"] for tool in offered}
    if PROPOSE in names:
        return _drafted(said, messages)
    may_search = SEARCH_TOOLS in names
    if not calls and RUN_CODE in names and (program := _PROGRAM.search(said)):
        return Reply("", ((RUN_CODE, json.dumps({"code": program[1]}, ensure_ascii=False)),))
    if not [name for name, _ in calls if name != SEARCH_TOOLS]:
        if wanted := _calls(said, own):
            return Reply("", wanted)
        if may_search and not calls and query_terms(said):
            return Reply("", ((SEARCH_TOOLS, json.dumps({"need": said[:2000]})),))
    results = [
        told(name, answer)
        for (name, _), answer in zip(calls, answers, strict=False)
        if name != SEARCH_TOOLS
    ]
    return Reply("\n\n".join(results) if results else _introduction(own, asked=bool(calls)))


def _drafted(said: str, messages: Sequence[JsonObject]) -> Reply:
    found = proposal(said, tools_told(messages))
    if found is None:
        return Reply("None of the tools shares enough words with what was written.")
    return Reply("", ((PROPOSE, json.dumps(found, ensure_ascii=False)),))


def _since(messages: Sequence[JsonObject]) -> tuple[list[Call], list[str]]:
    """Return the calls since the user's message and the answers to them, in order."""
    calls: list[tuple[str, Call]] = []
    answers: dict[str, str] = {}
    for message in messages:
        for call in message.get("tool_calls") or ():
            function = call["function"]
            calls.append((call["id"], (function["name"], function["arguments"])))
        if message["role"] == "tool":
            answers[message["tool_call_id"]] = str(message["content"])
    return [call for _, call in calls], [answers.get(call_id, "") for call_id, _ in calls]


def _calls(said: str, tools: Sequence[JsonObject]) -> tuple[Call, ...]:
    return tuple(
        (tool["name"], json.dumps(_arguments(tool, need), ensure_ascii=False))
        for tool, need in chosen(said, tools)
    )


def _arguments(tool: JsonObject, need: str) -> JsonObject:
    description = tool.get("description", "")
    return arguments_for(tool["parameters"], need, tool["name"], description)


def _introduction(tools: Sequence[JsonObject], *, asked: bool) -> str:
    names = ", ".join(f"`{tool['name']}`" for tool in tools[:TOOLS_NAMED])
    none = "No tool is at hand yet: ask for something, and those that fit are looked for."
    told_tools = f"I have these tools at hand: {names}." if names else none
    opening = "I found no tool that fits this. " if asked else ""
    return (
        f"{opening}I am Outfitter's demo model: I run offline and only match the words of a "
        f"message with tools, call the best one and tell what it answers. {told_tools} "
        "Try “What is 17 * 23?” or “What time is it in Tokyo?”, or name a tool and what it "
        "shall work on. For a model that understands language, set `OUTFITTER_MODEL` or the "
        "agent's model."
    )
