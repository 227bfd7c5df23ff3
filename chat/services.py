"""Every change that a person makes to a conversation."""

from collections.abc import Mapping, Sequence
from copy import copy
from functools import partial
from typing import Literal, cast

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.dispatch import receiver

from agents.credentials import env_of
from agents.experiments import arm_drawn
from agents.models import Agent
from agents.selectors import agent_visible_to
from agents.services import credential_set
from agents.signals import agent_ending
from chat import queueing, turns
from chat.endings import turns_close_stale
from chat.models import Conversation, QueuedMessage, Turn
from chat.models.turn import OPEN
from chat.opening import LONGEST_TITLE, checked_content, locked, state_of, turn_open
from chat.preparing import Sent
from chat.secrecy import Secrecy
from chat.turns import turn_start
from chat.variables import env_with_variables, variables_remember
from config.lib.errors import InvalidInput
from config.lib.jsontext import clean_text

ValueScope = Literal["conversation", "agent", "me"]


def conversation_create(*, user: User, agent_slug: str, title: str = "") -> Conversation:
    """Open a conversation with an agent the person may talk to, or raise NotFound.

    While an experiment runs with the agent, the lot decides on the conversation's toolset.
    """
    agent = agent_visible_to(user, agent_slug)
    conversation = Conversation(user=user, agent=agent, title=_checked_title(title))
    conversation.arm = arm_drawn(agent, conversation.pk)
    conversation.save()
    return conversation


@transaction.atomic
def conversation_start(*, user: User, agent_slug: str, content: str = "") -> Conversation:
    """Open a conversation, and where there is a first message, send it."""
    conversation = conversation_create(user=user, agent_slug=agent_slug)
    if content.strip():
        message_send(conversation, content=content)
    return conversation


def conversation_rename(conversation: Conversation, *, title: str) -> None:
    """Give a conversation another title."""
    conversation.title = _checked_title(title)
    if not conversation.title:
        raise InvalidInput("The title is empty.", "Write a few words that name the conversation.")
    conversation.save(update_fields=["title"])


def conversation_delete(conversation: Conversation) -> None:
    """Delete a conversation with all that was said; a turn that runs is stopped first.

    The record of the tool calls stays.
    """
    for turn in conversation.turns.filter(status__in=OPEN):
        turn_stop(turn)
    with transaction.atomic():
        locked(conversation.pk)  # as whoever ends a turn does: nobody waits for the other
        _turns_locked(conversation.turns.all())
        conversation.delete()


@receiver(agent_ending)
def _agent_ends(agent: Agent, **_: object) -> None:
    """Stop the turns of an agent that is being deleted, as those of a conversation are."""
    talks = Conversation.objects.filter(agent=agent, turns__status__in=OPEN).distinct()
    for conversation_id in sorted(talks.values_list("pk", flat=True)):
        locked(conversation_id)
    at_work = list(Turn.objects.filter(conversation__agent=agent, status__in=OPEN))
    for turn in at_work:
        turn_stop(turn)
    _turns_locked(Turn.objects.filter(pk__in=[turn.pk for turn in at_work]))


def _turns_locked(level: QuerySet[Turn]) -> None:
    """Lock turns that are being deleted, and those that their agents asked for.

    What a turn at work still saves then waits, and is refused once its turn is gone; saved between
    the look for what there is and its deletion, it would refuse the deletion.
    """
    while found := list(level.select_for_update(of=("self",)).values_list("pk", flat=True)):
        level = Turn.objects.filter(conversation__asked_in__in=found)


def message_send(
    conversation: Conversation, *, content: str, env: Mapping[str, str] | None = None
) -> Turn:
    """Save a message and start the turn that answers it, as soon as the message is committed.

    `env` are variables for the tools of this conversation; they are kept sealed and apart from it.
    A value that is known, in `env` or stored, is kept out of the message.
    Raises InvalidInput for an empty or too long message and TurnOpen while an answer is under way.
    """
    taken = _message_take(conversation, content, env, may_wait=False)
    return cast("Turn", taken)


def message_send_or_queue(
    conversation: Conversation, *, content: str, env: Mapping[str, str] | None = None
) -> Turn | QueuedMessage:
    """Send a message, or let it wait while the agent is not done with the last one.

    Raises as `message_send` does, and QueueFull instead of TurnOpen.
    """
    return _message_take(conversation, content, env, may_wait=True)


def queue_send(conversation: Conversation) -> Turn:
    """Send the first message that is held; those behind it follow by themselves.

    Raises TurnOpen while the agent is not done, and NotFound where nothing waits.
    """
    turns_close_stale(conversation.pk)
    with transaction.atomic():
        turn = queueing.first_send(conversation)
        transaction.on_commit(partial(turn_start, turn.pk))
    return turn


def values_set(conversation: Conversation, values: Mapping[str, str], *, keep: ValueScope) -> None:
    """Store values that a tool lacked: for the conversation, its agent or the person.

    Raises InvalidInput for a bad name or value and NotAllowed for somebody else's agent.
    """
    if keep == "conversation":
        variables_remember(conversation, values)
        return
    agent = conversation.agent if keep == "agent" else None
    with transaction.atomic():
        for name, value in values.items():
            credential_set(conversation.user, name=name, value=value, agent=agent)


def names_unset(conversation: Conversation, names: Sequence[str]) -> list[str]:
    """Return those of the variables for which a call in this conversation would find no value."""
    stored = env_of(conversation.user, conversation.agent)
    values = env_with_variables(conversation.pk, stored)(names)
    return [name for name in names if not values.get(name)]


def turn_stop(turn: Turn) -> None:
    """Ask a turn to stop; one that no process has, queued or waiting, is closed at once.

    Nothing happens to a turn that is over.
    """
    turns.turn_stop(turn.pk)


def _message_take(
    conversation: Conversation, content: str, env: Mapping[str, str] | None, *, may_wait: bool
) -> Turn | QueuedMessage:
    content = checked_content(content)
    with transaction.atomic():
        if env:
            variables_remember(conversation, env)
        now = locked(conversation.pk)
        if now.agent.owner_id != now.user_id:
            agent_visible_to(now.user, now.agent.slug)
        secrecy = Secrecy(now)
        content = secrecy.look().text(content)
        state = state_of(now)
        if state.open_turn and turns_close_stale(now.pk):
            state = state_of(now)
        if may_wait and state.open_turn:
            return queueing.message_queue(now, content)
        turn = turn_open(now, now.agent, content, parent_id=now.head_id, state=state)
        # a copy: whoever sent it may read its own anew
        transaction.on_commit(partial(turn_start, turn.pk, Sent(copy(turn), secrecy)))
    conversation.head, conversation.title = turn, now.title
    turn.conversation = conversation
    return turn


def _checked_title(title: str) -> str:
    title = " ".join(clean_text(title).split())
    if len(title) > LONGEST_TITLE:
        raise InvalidInput(
            f"The title has {len(title)} characters; at most {LONGEST_TITLE} are taken.",
            "Choose a shorter one.",
        )
    return title
