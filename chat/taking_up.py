"""Take what a turn waited for, from a person or from an agent that it asked, and queue it again."""

from dataclasses import dataclass
from functools import partial
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from chat.event_writer import announce
from chat.events import Event, event_append
from chat.models import InputRequest, Turn
from chat.models.input_request import InputKind
from chat.models.turn import OPEN, TurnStatus
from chat.resuming import ANSWERED, RESUMED
from chat.waiting import open_requests
from config.lib.types import JsonObject
from sequences.asking import is_asked
from sequences.models import Run
from sequences.models.run import RunStatus

DONE: JsonObject = {"decision": "done"}
"""The answer of a request that waited for another agent: its turn is over, in whatever way."""


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What became of an answer: what to tell, and whether the turn is to be run now."""

    events: list[Event]
    goes_on: bool


def answer_write(request: InputRequest, answer: JsonObject, user: User | None) -> Taken:
    """Write an answer; with the last one that its turn waits for, the turn is queued.

    Whoever calls holds the lock on the turn.
    """
    turn_id = request.turn_id
    request.answer, request.answered_by, request.answered_at = answer, user, timezone.now()
    request.save(update_fields=["answer", "answered_by", "answered_at"])
    events = [event_append(turn_id, "input.answered", answered(request))]
    if open_requests(turn_id):
        return Taken(events=events, goes_on=False)
    Turn.objects.filter(pk=turn_id, status=TurnStatus.WAITING).update(
        status=TurnStatus.QUEUED, heartbeat_at=timezone.now()
    )
    events.append(event_append(turn_id, RESUMED, {"cause": ANSWERED}))
    return Taken(events=events, goes_on=True)


def answered(request: InputRequest) -> JsonObject:
    """Return what `input.answered` tells of a request; a secret is never in it."""
    answer = request.answer or {}
    told: JsonObject = {
        "request": str(request.pk),
        "id": request.call_id,
        "kind": request.kind,
        "decision": answer.get("decision"),
        "answered_at": request.answered_at.isoformat() if request.answered_at else None,
    }
    if "arguments" in answer:
        told |= {"changed": True, "arguments": answer["arguments"]}
    return told | {key: answer[key] for key in ("text", "note", "remember") if answer.get(key)}


@transaction.atomic
def hand_back(turn_id: UUID) -> UUID | None:
    """Tell the turn that asked this one, in another conversation, that it is over.

    Returns the turn that asked, when it is to be run now. The lock on that turn decides between
    the end of the one and the pause of the other: one of them sees both (`hand_back_missed`).
    """
    asked_in = Turn.objects.filter(pk=turn_id).values_list("conversation__asked_in", flat=True)
    outer_id = asked_in.first()
    if outer_id is None:
        return None
    outer = Turn.objects.select_for_update().filter(pk=outer_id).first()
    if outer is None or outer.status != TurnStatus.WAITING:
        return None
    waits = InputRequest.objects.filter(turn=outer, kind=InputKind.AGENT, answered_at=None)
    request = waits.filter(asked__turn=str(turn_id)).first()
    if request is None:
        return None
    taken = answer_write(request, DONE, None)
    transaction.on_commit(partial(announce, outer.pk, taken.events))
    return outer.pk if taken.goes_on else None


def hand_back_missed(turn_id: UUID | None = None) -> list[UUID]:
    """Hand back what ended before its request was written, for one turn or for all.

    Returns the turns that are to be run now.
    """
    waits = InputRequest.objects.filter(
        kind=InputKind.AGENT, answered_at=None, turn__status=TurnStatus.WAITING
    )
    if turn_id is not None:
        waits = waits.filter(turn_id=turn_id)
    asked = list(waits.values_list("asked__turn", flat=True))
    gone = Turn.objects.filter(pk__in=asked).exclude(status__in=OPEN)
    return [outer for ended in gone.values_list("pk", flat=True) if (outer := hand_back(ended))]


@transaction.atomic
def hand_back_run(request_id: UUID) -> UUID | None:
    """Take away a question of a run that is asked no longer; return the turn that is to be run."""
    turn_id = InputRequest.objects.values_list("turn_id", flat=True).get(pk=request_id)
    turn = Turn.objects.select_for_update().get(pk=turn_id)
    request = InputRequest.objects.get(pk=request_id)
    if turn.status != TurnStatus.WAITING or request.answered_at is not None:
        return None
    taken = answer_write(request, DONE, None)
    transaction.on_commit(partial(announce, turn.pk, taken.events))
    return turn.pk if taken.goes_on else None


def runs_hand_back(*, run_id: UUID | None = None, turn_id: UUID | None = None) -> list[UUID]:
    """Take away the questions of runs that were answered elsewhere, expired, or whose run is over.

    Of one run, of one turn, or all; returns the turns that are to be run now.
    """
    waits = InputRequest.objects.filter(
        answered_at=None, asked__has_key="run_request", turn__status=TurnStatus.WAITING
    )
    if run_id is not None:
        waits = waits.filter(asked__run=str(run_id))
    if turn_id is not None:
        waits = waits.filter(turn_id=turn_id)
    gone = [row.pk for row in waits if not is_asked(row.asked["run_request"])]
    return [turn for each in gone if (turn := hand_back_run(each))]


def runs_waiting(turn_id: UUID) -> list[Run]:
    """Return the runs that a turn called and that wait for a person."""
    runs = Run.objects.filter(turn_id=turn_id, parent_step=None)
    return list(runs.filter(status=RunStatus.WAITING))


def asked_open(turn_id: UUID) -> list[Turn]:
    """Return the turns of other agents that a turn asked and that are not over."""
    return list(Turn.objects.filter(conversation__asked_in=turn_id, status__in=OPEN))
