"""What the model saw: the requests of a turn, for the person whose conversation it is."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from chat import selectors
from chat.llm import count_tokens
from chat.models import ModelStep
from chat.steps import SeenStep, steps_of
from chat.value_tree import value_tree
from config.lib.http import SignedInRequest
from config.lib.types import JsonObject

LONGEST_OPEN = 1_500
"""Characters of a message that is shown unfolded."""

FIRST_WORDS = 80


@dataclass(frozen=True)
class ShownMessage:
    """A message as the page tells it; `calls` are the names and arguments of its tool calls."""

    role: str
    text: str
    calls: list[JsonObject]
    about: str
    is_open: bool


@dataclass(frozen=True)
class ShownStep:
    """A step as the page tells it: the messages that are new in it, and its tools, if they are."""

    row: ModelStep
    messages: list[ShownMessage]
    tools: list[JsonObject]
    tools_tokens: int
    tools_count: int
    tries: list[JsonObject]


@login_required
@require_safe
def turn_steps(request: SignedInRequest, turn_id: UUID) -> HttpResponse:
    """Show each request of a turn: who was asked what, what it cost and how long it took."""
    turn = selectors.turn_of_person(request.user, turn_id)
    counted = cache(count_tokens)
    steps = [_shown(step, counted) for step in steps_of(turn.pk)]
    return render(request, "chat/turn_steps.html", {"turn": turn, "steps": steps})


def _shown(step: SeenStep, counted: Callable[[str, str], int]) -> ShownStep:
    row = step.row
    sizes = [counted(row.model, json.dumps(tool, ensure_ascii=False)) for tool in step.tools]
    is_new = row.tools is not None
    return ShownStep(
        row=row,
        messages=[_message(message) for message in row.messages],
        tools=[
            {
                "name": tool["function"]["name"],
                "tokens": size,
                "schema": value_tree(tool["function"].get("parameters")),
                "description": tool["function"].get("description", ""),
            }
            for tool, size in zip(step.tools if is_new else (), sizes, strict=False)
        ],
        tools_tokens=sum(sizes),
        tools_count=len(step.tools),
        tries=row.attempts if len(row.attempts) > 1 or row.error else [],
    )


def _message(message: JsonObject) -> ShownMessage:
    content = message.get("content") or ""
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    first = " ".join(text.split()) or ", ".join(call["name"] for call in calls)
    return ShownMessage(
        role=message["role"],
        text=text,
        calls=calls,
        about=first if len(first) <= FIRST_WORDS else f"{first[:FIRST_WORDS]}…",
        is_open=message["role"] != "system" and len(text) <= LONGEST_OPEN,
    )
