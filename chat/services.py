"""Every change that a person makes to a conversation."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from agents.credentials import env_of
from agents.experiments import arm_drawn
from agents.selectors import agent_visible_to
from agents.services import credential_set
from chat.models import Conversation, Turn
from chat.models.turn import OPEN, TurnStatus
from chat.opening import LONGEST_TITLE, checked_content, locked, turn_open
from chat.secrecy import Secrecy
from chat.turns import stop_announce, turn_finish, turn_start, turns_close_stale
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
    conversation.delete()


def message_send(
    conversation: Conversation, *, content: str, env: Mapping[str, str] | None = None
) -> Turn:
    """Save a message and start the turn that answers it, as soon as the message is committed.

    `env` are variables for the tools of this conversation; they are kept sealed and apart from it.
    A value that is known, in `env` or stored, is kept out of the message.
    Raises InvalidInput for an empty or too long message and TurnOpen while an answer is under way.
    """
    secrecy = Secrecy(conversation)
    content = checked_content(content)
    agent = agent_visible_to(conversation.user, conversation.agent.slug)
    turns_close_stale(conversation.pk)
    with transaction.atomic():
        variables_remember(conversation, env or {})
        now = locked(conversation.pk)
        turn = turn_open(now, agent, secrecy.look().text(content), parent_id=now.head_id)
        transaction.on_commit(partial(turn_start, turn.pk))
    conversation.head, conversation.title = turn, now.title
    turn.conversation = conversation
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
    asked = Turn.objects.filter(pk=turn.pk, status__in=OPEN).update(
        stop_requested_at=timezone.now()
    )
    if not asked:
        return
    _stop_unclaimed(turn)
    transaction.on_commit(partial(stop_announce, turn.pk))


@transaction.atomic
def _stop_unclaimed(turn: Turn) -> None:
    """Close a turn that no process has; the lock keeps one from claiming it meanwhile."""
    locked = Turn.objects.select_for_update().get(pk=turn.pk)
    if locked.status in {TurnStatus.QUEUED, TurnStatus.WAITING}:
        turn_finish(turn.pk, TurnStatus.STOPPED)


def _checked_title(title: str) -> str:
    title = " ".join(clean_text(title).split())
    if len(title) > LONGEST_TITLE:
        raise InvalidInput(
            f"The title has {len(title)} characters; at most {LONGEST_TITLE} are taken.",
            "Choose a shorter one.",
        )
    return title
