"""Make a turn ready for its model: what was said, what it may call, what a search finds for it.

All of it is done in one go by one thread: each hop and each query would keep the person waiting.
"""

import threading
from dataclasses import dataclass
from uuid import UUID

from django.utils import timezone

from agents.access import agent_context
from agents.experiments import arm_in_force
from chat import history
from chat.injection import Toolbox
from chat.intent import extract_intent, recent_context
from chat.means import of_conversation
from chat.models import Message, Turn
from chat.models.turn import TurnStatus
from chat.prompt import system_prompt
from chat.recording import Recorder
from chat.resuming import Standing
from chat.secrecy import Secrecy
from chat.selectors import path_to
from chat.waiting import remembering
from config.lib.types import JsonObject
from registry.models.invocation import Caller


@dataclass(frozen=True)
class Sent:
    """A turn that was opened just now, with its conversation; `secrecy` has looked already."""

    turn: Turn
    secrecy: Secrecy


@dataclass(frozen=True, kw_only=True)
class Ready:
    """What a turn begins with. `found` is still to be kept, if it is not None."""

    messages: list[JsonObject]
    toolbox: Toolbox
    found: JsonObject | None

    def keep(self, turn_id: UUID) -> None:
        """Write down what was found."""
        self.toolbox.keep()
        if self.found is not None:
            Turn.objects.filter(pk=turn_id).update(found=self.found)


def claim(turn_id: UUID, sent: Sent | None) -> Turn | None:
    """Take a queued turn for this process; return None when it is not to be had.

    One that was `sent` by this process is not read again.
    """
    taken = Turn.objects.filter(pk=turn_id, status=TurnStatus.QUEUED).update(
        status=TurnStatus.RUNNING, heartbeat_at=timezone.now()
    )
    if not taken:
        return None
    if sent is not None:
        return sent.turn
    related = ("conversation__agent", "conversation__user")
    return Turn.objects.select_related(*related).get(pk=turn_id)


def made_ready(
    turn: Turn, secrecy: Secrecy, standing: Standing, recorder: Recorder, cancel: threading.Event
) -> Ready:
    """Put together what the model is told, and tell what was found for the message."""
    toolbox = _toolbox(turn, secrecy, cancel)
    said = _said(turn, standing)
    asked = [each for each in said if each["content"] != history.GO_ON]
    content = next(each["content"] for each in reversed(asked) if each["role"] == "user")
    found = toolbox.discover(extract_intent(content), recent_context(asked), keep=False)
    prompt = system_prompt(
        turn.conversation.agent,
        toolbox.linked,
        deferred=toolbox.deferred,
        may_search=toolbox.may_search,
        may_run_code=toolbox.code is not None,
    )
    return Ready(
        messages=secrecy.masker.value([{"role": "system", "content": prompt}, *said]),
        toolbox=toolbox,
        found=recorder.found(found) if turn.found is None else None,
    )


def _toolbox(turn: Turn, secrecy: Secrecy, cancel: threading.Event) -> Toolbox:
    conversation = turn.conversation
    arm = arm_in_force(conversation.arm_id)
    context = agent_context(
        conversation.agent,
        conversation.user,
        caller=Caller.CHAT,
        cancel=cancel,
        turn_id=turn.pk,
        arm=arm,
    )
    context = of_conversation(context, conversation.pk)
    context = context.derive(policy=remembering(context.policy, conversation.pk))
    return Toolbox(turn, context, secrecy, arm)


def _said(turn: Turn, standing: Standing) -> list[JsonObject]:
    """Return what was said until now. A message with open calls is left to the loop."""
    told = Message.objects.filter(turn__in=path_to(turn.pk) if turn.parent_id else [turn.pk])
    if standing.open_message is not None:
        told = told.exclude(turn=turn, position__gte=standing.open_message)
    rows = list(told.order_by("turn__number", "position"))
    return history.messages_for_model(rows, taken_up=not standing.is_new)
