"""End turns: of their own, by a person, or because their process is gone."""

from datetime import timedelta
from functools import partial
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from chat.errors import TurnInterrupted
from chat.event_writer import announce
from chat.events import Event, event_append
from chat.llm import Usage
from chat.metrics import ENDED
from chat.models import Turn
from chat.models.message import Role
from chat.models.turn import AT_WORK, OPEN, TurnStatus
from chat.resuming import half_said, recorded_of
from chat.waiting import requests_close
from config.lib.types import JsonObject

STALE_AFTER = timedelta(seconds=30)
"""A turn without a sign of life for this long has lost its process."""


@transaction.atomic
def turn_close(
    turn_id: UUID,
    status: TurnStatus,
    *,
    usage: Usage | None = None,
    error: JsonObject | None = None,
) -> Event | None:
    """Close an open turn together with its last event; return None when it is closed already.

    What it waited for is not asked any more. Without `usage` what was counted before stays.
    """
    counted = {"usage": usage.as_json(), "cost": usage.cost} if usage else {}
    closed = Turn.objects.filter(pk=turn_id, status__in=OPEN).update(
        status=status, error=error, finished_at=timezone.now(), **counted
    )
    if not closed:
        return None
    requests_close(turn_id)
    told: JsonObject = {"error": error}
    if not error:
        usage_now = Turn.objects.values_list("usage", flat=True).get(pk=turn_id)
        told = {"status": status, "usage": usage_now}
    last = event_append(turn_id, "turn.failed" if error else "turn.completed", told)
    transaction.on_commit(partial(announce, turn_id, [last]))
    transaction.on_commit(partial(_count, status.value, str(error["code"]) if error else ""))
    return last


def _count(status: str, error: str) -> None:
    ENDED.labels(status, error).inc()


def turns_close_stale(conversation_id: UUID | None = None) -> int:
    """Finish turns whose process is gone, so that their conversations can go on.

    They are those of one conversation or of all; returns how many were closed. A turn that waits
    for a person has no process and is left alone.
    """
    limit = timezone.now() - STALE_AFTER
    silent = Q(heartbeat_at__lt=limit) | Q(heartbeat_at=None, created_at__lt=limit)
    stale = Turn.objects.filter(silent, status__in=AT_WORK)
    if conversation_id is not None:
        stale = stale.filter(conversation_id=conversation_id)
    return sum(turn_interrupt(turn_id, silent) for turn_id in stale.values_list("pk", flat=True))


@transaction.atomic
def turn_interrupt(turn_id: UUID, still: Q) -> bool:
    """Close a turn whose process is gone, and keep what it had said of its last message.

    Nothing happens to a turn that is not at work, or no longer as `still` says.
    """
    turn = Turn.objects.select_for_update().filter(still, pk=turn_id, status__in=AT_WORK).first()
    if turn is None:
        return False
    rows = list(turn.messages.order_by("position"))
    if text := half_said(turn_id, rows):
        position = recorded_of(turn, rows).position
        turn.messages.create(position=position, role=Role.ASSISTANT, content=text)
    return bool(turn_close(turn_id, TurnStatus.FAILED, error=TurnInterrupted().as_dict()))
