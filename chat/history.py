"""What was said before, as the model is told it."""

from collections.abc import Sequence
from itertools import groupby
from uuid import UUID

from chat.answers import Answer
from chat.errors import CallInterrupted
from chat.llm import ToolCallReady
from chat.loop import assistant_message, tool_message
from chat.models import Message
from chat.models.message import Role
from config.lib.types import JsonObject

BUDGET = 200_000
"""Characters of a conversation that are told to the model, about 50,000 tokens; whole turns are
left out from the start when there are more."""

INTERRUPTED = Answer.failed(CallInterrupted(), tool="").for_model()

GO_ON = "Your message broke off here. Go on from where it ended, without repeating it."
"""Stands behind words that were broken off: some providers take no message of the model's last."""


def messages_for_model(messages: Sequence[Message], *, taken_up: bool = False) -> list[JsonObject]:
    """Return a conversation's messages, in order, in the shape of OpenAI's chat completions.

    The last turn is `taken_up` where the model is to go on with it, and not with a new message.
    """
    turns = [_told(list(rows)) for _, rows in groupby(messages, key=_turn_of)]
    if taken_up and turns and turns[-1][-1]["role"] == Role.ASSISTANT:
        turns[-1].append({"role": "user", "content": GO_ON})
    kept: list[list[JsonObject]] = []
    left = BUDGET
    for turn in reversed(turns):
        left -= sum(len(str(message)) for message in turn)
        if left < 0 and kept:
            break
        kept.insert(0, turn)
    return [message for turn in kept for message in turn]


def _turn_of(message: Message) -> UUID:
    return message.turn_id


def _told(rows: list[Message]) -> list[JsonObject]:
    """Return one turn; a call that a stop or a crash left open gets an answer that says so.

    What the model said without a call is its last word, unless the turn went on behind it.
    """
    answers = {row.tool_call_id: row.content for row in rows if row.role == Role.TOOL}
    told: list[JsonObject] = []
    for row in rows:
        if row.role == Role.USER:
            told.append({"role": "user", "content": row.content})
        elif row.role == Role.ASSISTANT:
            calls = [ToolCallReady(**call) for call in row.tool_calls]
            told.append(assistant_message(row.content, calls))
            told += [tool_message(call.id, answers.get(call.id, INTERRUPTED)) for call in calls]
            if not calls and row is not rows[-1]:
                told.append({"role": "user", "content": GO_ON})
    return told
