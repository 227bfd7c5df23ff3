"""Turns with something of everything, as rows: calls of every look, and all that can be asked."""

from __future__ import annotations

import base64
import json
from typing import Any

from django.contrib.auth.models import User

from agents.models import Agent
from chat.events import event_append
from chat.models import Conversation, InputRequest, Turn
from chat.models.message import Role
from chat.models.turn import TurnStatus
from tests.factories import make_conversation, make_turn
from tests.fakes.model_server import MODEL

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAF0lEQVR4nGOIS6sgCTGMahjVMHI1AABZkrkQ"
    "xh0zSAAAAABJRU5ErkJggg=="
)


def _record(output: Any = None, **more: Any) -> dict[str, Any]:
    return {"status": "succeeded", "output": output, "duration_ms": 420, **more}


def turn_with_every_call(conversation: Conversation, **fields: Any) -> Turn:
    """Make a turn with a call of every look."""
    rows = [
        {"city": city, "temperature": 3.5 * place, "sky": "cloudy", "wind": {"speed": place}}
        for place, city in enumerate(("Oslo", "Bergen", "Tromsø", "Ålesund"))
    ]
    picture = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(PIXEL).decode()}
    log = [
        {"stepNumber": 1, "tool": "trim_text", "status": "succeeded", "message": "Trimmed"},
        {"stepNumber": 2, "tool": "count_text", "status": "failed", "message": "No text"},
    ]
    called = [
        {"number": 1, "tool": "calculator", "status": "succeeded", "message": "391"},
        {"number": 2, "tool": "dice", "status": "failed", "message": "No such die"},
    ]
    error = {
        "code": "upstream_down",
        "message": "The weather service does not answer.",
        "hint": "Try again in some minutes.",
        "extra": {"tool": "weather", "phase": "execute"},
    }
    code = "rows = []\nfor n in range(3):\n    rows.append(await tool_call('dice', n=n))\nrows"
    told = {"result": [1, 2, 3], "printed": "one\ntwo", "calls": 2}
    calls: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("weather_of_cities", {"cities": ["Oslo", "Bergen"], "days": 3}, _record(rows)),
        ("draw", {"prompt": "a red square"}, _record("A square.", media=[picture])),
        ("read_page", {"url": "https://example.org/a"}, _record("A long text. " * 90)),
        ("weekly_report", {}, _record({"ok": True}, details={"log": log})),
        ("run_code", {"code": code}, _record(told, details={"calls": called})),
        ("weather", {"city": "Oslo"}, {"status": "failed", "error": error, "duration_ms": 5000}),
    ]
    turn = make_turn(
        conversation,
        model=MODEL,
        status=TurnStatus.COMPLETED,
        usage={"input_tokens": 12_345, "output_tokens": 678},
        cost="0.0123",
        **fields,
    )
    make = turn.messages.create
    make(position=0, role=Role.USER, content="Show me all that you can do, at once.")
    make(
        position=1,
        role=Role.ASSISTANT,
        content="I will look at the weather, and draw it.",
        tool_calls=[
            {"id": str(place), "name": name, "arguments": json.dumps(given)}
            for place, (name, given, _) in enumerate(calls)
        ],
    )
    for place, (_, _, record) in enumerate(calls):
        make(position=2 + place, role=Role.TOOL, tool_call_id=str(place), result=record)
    make(position=9, role=Role.ASSISTANT, content="It is **cold**, and the square is red.")
    return turn


def turn_that_waits(conversation: Conversation) -> Turn:
    """Make a turn that asks for an approval, a key, an answer, and to look at another agent."""
    turn = make_turn(conversation, model=MODEL, status=TurnStatus.WAITING)
    words = "Write to everybody, look up the weather and ask the travel desk."
    turn.messages.create(position=0, role=Role.USER, content=words)
    schema = {
        "type": "object",
        "properties": {
            "to": {"type": "string", "description": "Who gets it."},
            "text": {"type": "string", "description": "What it says."},
            "urgent": {"type": "boolean"},
            "kind": {"type": "string", "enum": ["letter", "note"]},
            "copies": {"type": "integer"},
        },
        "required": ["to", "text"],
    }
    given = {"to": "all@example.org", "text": "Dear all,\n\n" + "it rains. " * 20, "copies": 2}
    question = {
        "question": "Which of these cities do you mean?",
        "options": ["Paris, France", "Paris, Texas", "Neither of them, but a third one"],
    }
    desk = {"agent": "Travel desk", "conversation": str(conversation.pk), "turn": str(turn.pk)}
    asked: list[tuple[str, str, dict[str, Any]]] = [
        (
            *("approval", "send_mail"),
            {"arguments": given, "schema": schema, "reason": "The rule “ask send_*”."},
        ),
        ("credential", "weather", {"names": ["WEATHER_KEY", "WEATHER_ACCOUNT"]}),
        ("question", "ask_user", question),
        ("agent", "ask_travel_desk", desk),
    ]
    event_append(turn.pk, "turn.started", {"model": MODEL})
    event_append(turn.pk, "text.delta", {"text": "I need **you** for this."})
    ids = []
    for place, (kind, tool, told) in enumerate(asked):
        call = f"call-{place}"
        row = InputRequest.objects.create(
            turn=turn, kind=kind, call_id=call, tool_name=tool, asked=told
        )
        ids.append(str(row.pk))
        arguments = told.get("arguments", {})
        event_append(turn.pk, "tool.call", {"id": call, "name": tool, "arguments": arguments})
        event_append(
            turn.pk,
            "input.required",
            {"request": ids[-1], "id": call, "kind": kind, "tool": tool, "title": tool, **told},
        )
    event_append(turn.pk, "turn.waiting", {"requests": ids})
    return turn


def talk(user: User, agent: Agent, found: dict[str, Any]) -> Conversation:
    """Make a conversation with all of it; `found` is what its first turn's search found."""
    conversation = make_conversation(user, agent, title="All that it can do")
    turn_with_every_call(conversation, found=found)
    turn_that_waits(conversation)
    return conversation
