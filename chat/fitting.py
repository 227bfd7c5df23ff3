"""Make a conversation fit what a model reads at once, by a stated rule.

When it is too long, first the results of tools that are older than the last two steps are each
shortened to one line; when that is not enough, whole earlier turns are left out from the start.
The system message, the last message of the user and everything behind it always stay; when that
alone is too long, ContextTooLong says so.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from chat.errors import ContextTooLong
from config.lib.types import JsonObject

STEPS_KEPT = 2
"""Of the last so many steps the results of tools stay whole."""

FRAME = 8
"""Tokens that stand round a message: its role, and where it begins and ends. Providers take 3 to 5;
a few more than too few."""

_ARTIFACT = re.compile(r"is kept as the artifact (.+?), version (\d+);")
"""How `Answer.for_model` tells where the whole output is."""


@dataclass(frozen=True)
class Fitted:
    """What is sent, and what was left out of it, as `ModelStep.compaction` has it."""

    messages: list[JsonObject]
    compaction: JsonObject | None = None


Count = Callable[[JsonObject], int]
"""Counts the tokens of one message."""


def fit(messages: Sequence[JsonObject], *, limit: int, count: Count) -> Fitted:
    """Return the messages so that they have at most `limit` tokens.

    Raises ContextTooLong when what has to stay is longer than that.
    """
    before = sum(map(count, messages))
    if before <= limit:
        return Fitted(list(messages))
    kept, shortened = _results_shortened(messages)
    head, turns = _turns(kept)
    sizes = [sum(map(count, turn)) for turn in turns]
    dropped = 0
    while dropped < len(turns) - 1 and _size(head, dropped, count) + sum(sizes[dropped:]) > limit:
        dropped += 1
    after = _size(head, dropped, count) + sum(sizes[dropped:])
    if after > limit:
        raise ContextTooLong(
            f"The last message and what was done for it have about {after:,} tokens; "
            f"there is room for {max(limit, 0):,}.",
            "Start a new conversation with less at once, or choose a model that reads more.",
            tokens=after,
            room=max(limit, 0),
        )
    left = [message for turn in turns[dropped:] for message in turn]
    gone = sum(message["role"] == "tool" for turn in turns[:dropped] for message in turn)
    return Fitted(
        [*_noted(head, dropped), *left],
        {
            "rule": "turns" if dropped else "results",
            "dropped_turns": dropped,
            "dropped_results": max(0, shortened - gone),
            "tokens_before": before,
            "tokens_after": after,
        },
    )


def texts_of(message: JsonObject) -> list[str]:
    """Return what of a message is read: its words and its calls."""
    content = message.get("content") or ""
    texts = [content if isinstance(content, str) else json.dumps(content)]
    for call in message.get("tool_calls") or ():
        texts += [call["id"], call["function"]["name"], call["function"]["arguments"]]
    return texts


def _results_shortened(messages: Sequence[JsonObject]) -> tuple[list[JsonObject], int]:
    """Return the messages with the older results in one line each, and how many those are."""
    steps = [place for place, message in enumerate(messages) if message.get("tool_calls")]
    recent = steps[-STEPS_KEPT] if len(steps) >= STEPS_KEPT else 0
    names: dict[str, str] = {}
    told: list[JsonObject] = []
    shortened = 0
    for place, message in enumerate(messages):
        for call in message.get("tool_calls") or ():
            names[call["id"]] = call["function"]["name"]
        if message["role"] == "tool" and place < recent:
            line = _line(names.get(message["tool_call_id"], "a tool"), message["content"])
            if len(line) < len(message["content"]):
                told.append({**message, "content": line})
                shortened += 1
                continue
        told.append(message)
    return told, shortened


def _line(name: str, content: str) -> str:
    artifact = _ARTIFACT.search(content)
    where = f"; all of it is the artifact {artifact[1]}, version {artifact[2]}" if artifact else ""
    size = len(content.encode("utf-8", "replace"))
    return f"[The result of {name}, {size:,} bytes, was left out to make room{where}.]"


def _turns(messages: Sequence[JsonObject]) -> tuple[list[JsonObject], list[list[JsonObject]]]:
    """Return what stands before the first message of the user, and the turns."""
    head: list[JsonObject] = []
    turns: list[list[JsonObject]] = []
    for message in messages:
        if message["role"] == "user":
            turns.append([])
        (turns[-1] if turns else head).append(message)
    return head, turns


def _noted(head: Sequence[JsonObject], dropped: int) -> list[JsonObject]:
    """Return the head with a note for the turns that were left out.

    It ends the system message, behind which they stood: a system message of its own is refused
    by some providers, and one of the user is not what the user said.
    """
    if not dropped:
        return list(head)
    turns = "The first turn" if dropped == 1 else f"The first {dropped:,} turns"
    note = f"[{turns} of this conversation {'was' if dropped == 1 else 'were'} left out.]"
    if head and head[0]["role"] == "system":
        return [{**head[0], "content": f"{head[0]['content']}\n\n{note}"}, *head[1:]]
    return [{"role": "system", "content": note}, *head]


def _size(head: Sequence[JsonObject], dropped: int, count: Count) -> int:
    return sum(map(count, _noted(head, dropped)))
