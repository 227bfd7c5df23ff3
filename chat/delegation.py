"""Ask another agent, as a tool: a turn of its own, in a conversation beside the one that asks."""

import time
from uuid import UUID

from agents.models import Agent
from agents.selectors import agents_visible_to
from chat.models import Conversation, InputRequest, Message, Turn, TurnEvent
from chat.models.input_request import InputKind
from chat.models.message import Role
from chat.models.turn import TurnStatus
from chat.services import message_send, turn_stop
from config.lib.types import JsonObject
from registry.context import CallContext
from registry.errors import AgentWaits, CallCancelled, PermissionRefused, ToolFailed, ToolTimeout
from registry.executors.base import Output, give_back_connection
from registry.replay import inner_call_id
from registry.specs import ToolSpec

MAX_DEPTH = 3
"""Agents that ask one another, one inside the other."""

POLL_SECONDS = 0.1


class AgentExecutor:
    """The agent acts for the same person, with its own tools, rules and scopes.

    A call that is made again, because the turn around it went on after a pause, finds the
    conversation that it began.
    """

    def execute(self, spec: ToolSpec, arguments: JsonObject, context: CallContext) -> Output:
        """Ask the agent; the output is `{answer}`, `details` name `{conversation, turn}`.

        Raises AgentWaits where the agent waits for the person.
        """
        turn = _asked_before(context) or _ask(spec, arguments["message"], context)
        give_back_connection()
        _wait(turn.pk, context, spec.timeout_seconds)
        turn.refresh_from_db()
        return _answer(turn)


def _asked_before(context: CallContext) -> Turn | None:
    """Return the turn that this very call began earlier."""
    if context.turn_id is None or not context.call_id:
        return None
    turns = Turn.objects.filter(
        conversation__asked_in=context.turn_id, conversation__asked_call=context.call_id
    )
    turn = turns.order_by("number").first()  # what the person said there later is not the answer
    if turn is None and _has_waited(context.turn_id, context.call_id):
        raise CallCancelled("The conversation in which the agent was asked was deleted.")
    return turn


def _has_waited(turn_id: UUID, call_id: str) -> bool:
    """Tell whether the call waited for the agent before, itself or as a call of a program."""
    waits = InputRequest.objects.filter(turn_id=turn_id, kind=InputKind.AGENT)
    return any(
        call_id == (inner_call_id(call, inner) if inner else call)
        for call, inner in waits.values_list("call_id", "inner_call")
    )


def _ask(spec: ToolSpec, message: str, context: CallContext) -> Turn:
    agent = _agent(spec, context)
    outer = _outer(context)
    depth = outer.conversation.depth + 1 if outer else 1
    if depth > MAX_DEPTH:
        raise ToolFailed(
            f"Agents ask one another more than {MAX_DEPTH} deep.",
            "Let this agent answer with its own tools.",
        )
    conversation = Conversation.objects.create(
        user=context.user,
        agent=agent,
        asked_in=outer,
        asked_call=context.call_id if outer else "",
        depth=depth,
    )
    return message_send(conversation, content=message)


def _outer(context: CallContext) -> Turn | None:
    """Return the turn in which the agent is asked; a person who calls the tool has none."""
    if context.turn_id is None:
        return None
    return Turn.objects.select_related("conversation").filter(pk=context.turn_id).first()


def _agent(spec: ToolSpec, context: CallContext) -> Agent:
    definition = spec.definition or {}
    agent = agents_visible_to(context.user).filter(pk=definition["agent"]).first()
    if agent is None:
        raise PermissionRefused(
            f"You may not talk to the agent behind {spec.wire_name}, or it is gone.",
            "Use another tool.",
        )
    return agent


def _wait(turn_id: UUID, context: CallContext, timeout_seconds: float) -> None:
    """Follow the turn until it is over or waits; tell each of its tool calls as progress."""
    deadline = time.monotonic() + timeout_seconds
    seen = 0
    names: dict[str, str] = {}
    while True:
        turn = Turn.objects.get(pk=turn_id)
        seen = _tell(turn_id, seen, names, context)
        if turn.status == TurnStatus.WAITING or turn.finished_at is not None:
            return
        if context.cancel.is_set():
            turn_stop(turn)
            raise CallCancelled("The agent that was asked was stopped.", details=_details(turn))
        if time.monotonic() > deadline:
            turn_stop(turn)
            raise ToolTimeout(
                f"The agent did not answer within {timeout_seconds:g} s and was stopped.",
                "Ask it for less at once.",
                details=_details(turn),
            )
        context.cancel.wait(POLL_SECONDS)


def _tell(turn_id: UUID, seen: int, names: dict[str, str], context: CallContext) -> int:
    """Pass on the calls that the agent makes; return the number of the last event."""
    events = TurnEvent.objects.filter(turn_id=turn_id, number__gt=seen).order_by("number")
    for event in events:
        seen = event.number
        if event.name == "tool.call":
            names[event.data["id"]] = event.data["name"]
        elif event.name != "tool.result":
            continue
        call = event.data["id"]
        status = event.data.get("status", "running")
        context.progress({"message": names.get(call, ""), "step": call, "status": status})
    return seen


def _answer(turn: Turn) -> Output:
    details = _details(turn)
    if turn.status == TurnStatus.WAITING:
        agent = turn.conversation.agent
        raise AgentWaits(
            f"{agent.name} waits for an answer from you.",
            agent=agent.name,
            conversation=str(turn.conversation_id),
            turn=str(turn.pk),
            details=details,
        )
    if turn.status == TurnStatus.STOPPED:
        raise CallCancelled("The agent that was asked was stopped.", details=details)
    if turn.status == TurnStatus.FAILED:
        error = turn.error or {}
        raise ToolFailed(
            f"{turn.conversation.agent.name} could not answer: {error.get('message', '')}",
            error.get("hint", ""),
            details=details,
        )
    said = Message.objects.filter(turn=turn, role=Role.ASSISTANT).order_by("position").last()
    return Output(value={"answer": said.content if said else ""}, details=details)


def _details(turn: Turn) -> JsonObject:
    return {"conversation": str(turn.conversation_id), "turn": str(turn.pk)}
