"""Turns that wait for a person: their requests, from the question to the answer."""

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from chat.events import Event, event_append
from chat.llm import Usage
from chat.loop import Paused
from chat.models import InputRequest, Turn
from chat.models.input_request import STOPPED, InputKind
from chat.models.turn import TurnStatus
from chat.pauses import Ask
from config.lib.jsontext import storable
from config.lib.masking import Masker
from config.lib.types import JsonObject
from registry.approval import Effect, Policy, Verdict
from registry.models.tool import ToolKind
from registry.specs import ToolSpec


@transaction.atomic
def turn_wait(turn_id: UUID, paused: Paused, usage: Usage | None, masker: Masker) -> list[Event]:
    """Let a running turn wait: write its requests and its state, and return the events.

    Nothing is written and returned when the turn was closed, or is to stop.
    """
    turn = Turn.objects.select_for_update().get(pk=turn_id)
    if turn.status != TurnStatus.RUNNING or turn.stop_requested_at:
        return []
    told: list[Event] = []
    requests: list[str] = []
    for waiting in paused.calls:
        for ask in waiting.pause.masked(masker).asks:
            row = _request(turn, waiting.call.id, ask)
            requests.append(str(row.pk))
            told.append(event_append(turn_id, "input.required", required(row)))
    told.append(event_append(turn_id, "turn.waiting", {"requests": requests}))
    Turn.objects.filter(pk=turn_id).update(
        status=TurnStatus.WAITING,
        heartbeat_at=None,
        usage=usage.as_json() if usage else {},
        cost=usage.cost if usage else None,
    )
    return told


def required(row: InputRequest) -> JsonObject:
    """Return what `input.required` tells of a request."""
    told = {
        "request": str(row.pk),
        "id": row.call_id,
        "kind": row.kind,
        "tool": row.tool_name,
        **row.asked,
    }
    return {**told, "inner_call": row.inner_call} if row.inner_call else told


def open_requests(turn_id: UUID) -> Sequence[InputRequest]:
    """Return what a turn still waits for, in the order in which it was asked."""
    rows = InputRequest.objects.filter(turn_id=turn_id, answered_at=None)
    return list(rows.order_by("created_at", "pk"))


def requests_close(turn_id: UUID) -> None:
    """Close what nobody answered, because its turn is over."""
    rows = InputRequest.objects.filter(turn_id=turn_id, answered_at=None)
    rows.update(answer=STOPPED, answered_at=timezone.now())


def asks_for_run(request: InputRequest) -> bool:
    """Tell whether a request is what the run of a sequence asks, and not about a call."""
    return "run_request" in request.asked


def remembering(policy: Policy, conversation_id: UUID) -> Policy:
    """Return the policy that asks no more about a tool for which somebody was not to be asked.

    That holds in one conversation; what is denied stays denied.
    """

    def verdict(spec: ToolSpec) -> Verdict:
        said = policy(spec)
        # a sequence may be asked about for what it calls, though nothing is said of itself
        may_ask = said.effect == Effect.ASK or spec.kind == ToolKind.SEQUENCE
        if said.effect == Effect.DENY or not may_ask:
            return said
        if not _is_remembered(conversation_id, spec.tool_id):
            return said
        reason = "You said not to be asked again here."
        return Verdict(effect=Effect.ALLOW, reason=reason, approved=True)

    return verdict


def _is_remembered(conversation_id: UUID, tool_id: UUID) -> bool:
    return InputRequest.objects.filter(
        turn__conversation_id=conversation_id,
        tool_id=tool_id,
        kind=InputKind.APPROVAL,
        answer__decision="approve",
        answer__remember=True,
    ).exists()


def _request(turn: Turn, call_id: str, ask: Ask) -> InputRequest:
    return InputRequest.objects.create(
        turn=turn,
        kind=ask.kind,
        call_id=call_id,
        inner_call=ask.inner_call,
        tool_id=ask.tool_id,
        tool_name=ask.tool[:128],
        asked=storable(ask.asked),
    )
