"""Go on with a turn that failed or was stopped."""

from collections.abc import Sequence
from functools import partial

from django.db import transaction
from django.utils import timezone

from agents.selectors import agent_visible_to
from chat.answers import Answer
from chat.endings import turns_close_stale
from chat.errors import CallInterrupted, CallNotMade, TurnNotContinuable, TurnOpen
from chat.event_writer import announce
from chat.events import Event, event_append
from chat.llm import ToolCallReady
from chat.models import Conversation, InputRequest, Message, Turn
from chat.models.input_request import STOPPED, InputKind
from chat.models.message import Role
from chat.models.turn import OPEN, TurnStatus
from chat.replaying import is_paused
from chat.resuming import CONTINUED, RESUMED, open_calls, recorded_of
from chat.turns import turn_start
from chat.waiting import asks_for_run
from sequences.models import Run
from sequences.models.run import RunStatus


def turn_continue(turn: Turn) -> Turn:
    """Take a turn up where it broke off: what was said is kept, and its limits count anew.

    Calls that were left open are answered with the fact that they were; a program that had waited
    for a person is run again, and makes no call twice. Raises TurnOpen while
    another turn is open, TurnNotContinuable for any but the last turn and for one that came to its
    answer, and NotFound where the agent may not be talked to any more.
    """
    conversation = turn.conversation
    agent_visible_to(conversation.user, conversation.agent.slug)
    turns_close_stale(conversation.pk)
    with transaction.atomic():
        locked = Conversation.objects.select_for_update().get(pk=conversation.pk)
        if standing := locked.turns.filter(status__in=OPEN).first():
            raise TurnOpen(turn=str(standing.pk))
        turn = Turn.objects.select_for_update(of=("self",)).get(pk=turn.pk)
        if locked.head_id != turn.pk:
            raise TurnNotContinuable("The conversation went on after this turn.")
        if turn.status == TurnStatus.COMPLETED:
            raise TurnNotContinuable("The agent came to its answer.")
        rows = list(turn.messages.order_by("position"))
        left = [each for each in open_calls(rows) if not _goes_on(turn, each[1])]
        told = [_left_open(turn, position, call) for position, call in left]
        position = _taken_up_at(turn, rows, is_whole=len(left) == len(open_calls(rows)))
        told.append(event_append(turn.pk, RESUMED, {"cause": CONTINUED, "position": position}))
        Turn.objects.filter(pk=turn.pk).update(
            status=TurnStatus.QUEUED,
            error=None,
            finished_at=None,
            stop_requested_at=None,
            heartbeat_at=timezone.now(),
        )
        transaction.on_commit(partial(announce, turn.pk, told))
        transaction.on_commit(partial(turn_start, turn.pk))
    turn.refresh_from_db()
    return turn


def _goes_on(turn: Turn, call: ToolCallReady) -> bool:
    """Tell whether a call is made again where it was: a program that waited, or a sequence whose
    run went on without the turn, or waits for it."""
    if is_paused(turn.pk, call.id):
        return True
    runs = Run.objects.filter(turn_id=turn.pk, call_id=call.id, parent_step=None)
    return runs.exclude(status=RunStatus.CANCELLED).filter(cancel_requested_at=None).exists()


def _taken_up_at(turn: Turn, rows: Sequence[Message], *, is_whole: bool) -> int:
    """Return the position from which the turn goes on: that of its last message where a program
    of that message is run again from what is kept of it."""
    recorded = recorded_of(turn, rows)
    return recorded.position if is_whole else recorded.first_answer - 1


def _left_open(turn: Turn, position: int, call: ToolCallReady) -> Event:
    """Answer a call that was under way when the turn ended, or that still waited for a person."""
    asked = InputRequest.objects.filter(turn=turn, call_id=call.id).order_by("-created_at").first()
    # a program, an agent that was asked or a sequence had begun: what it did is not known
    is_begun = asked is not None and (
        asked.inner_call or asked.kind == InputKind.AGENT or asks_for_run(asked)
    )
    waited = asked is not None and asked.answer == STOPPED and not is_begun
    answer = Answer.failed(CallNotMade() if waited else CallInterrupted(), tool=call.name)
    record = answer.for_record()
    Message.objects.create(
        turn=turn,
        position=position,
        role=Role.TOOL,
        content=answer.for_model(),
        tool_call_id=call.id,
        result=record,
    )
    return event_append(turn.pk, "tool.result", {"id": call.id, **record})
