"""Answer a message once more, or another message in its place: the branches of a conversation.

A branch is never changed: a turn that is regenerated, and a message that is edited, stay as they
were and can be shown again.
"""

from functools import partial
from uuid import UUID

from django.db import transaction

from agents.selectors import agent_visible_to
from chat.endings import turns_close_stale
from chat.errors import TurnOpen
from chat.models import Message, Turn
from chat.models.message import Role
from chat.opening import checked_content, locked, open_turn_of, title_from, turn_open
from chat.secrecy import Secrecy
from chat.selectors import leaf_of
from chat.turns import turn_start
from config.lib.errors import NotFound


def turn_regenerate(turn: Turn) -> Turn:
    """Have the message of a turn answered once more, beside the answer that it has.

    Raises TurnOpen while the agent is not done with a turn of the conversation.
    """
    return _beside(turn, said_in(turn))


def message_edit(turn: Turn, *, content: str) -> Turn:
    """Send another message in the place of a turn's; the conversation goes on from it.

    A title that was taken from the first message follows it. Raises InvalidInput for an empty or
    too long message, and TurnOpen while the agent is not done with a turn of the conversation.
    """
    content = Secrecy(turn.conversation).look().text(checked_content(content))
    return _beside(turn, content)


def turn_show(turn: Turn) -> UUID:
    """Show the branch of a turn, to its latest turn, and go on with it; return that turn's id.

    Raises TurnOpen while the agent is not done: its answer belongs to the branch that is shown.
    """
    turns_close_stale(turn.conversation_id)
    with transaction.atomic():
        conversation = locked(turn.conversation_id)
        if standing := open_turn_of(conversation):
            raise TurnOpen(turn=str(standing.pk))
        conversation.head_id = leaf_of(turn.pk)
        conversation.save(update_fields=["head"])
    turn.conversation.head_id = conversation.head_id
    return conversation.head_id


def said_in(turn: Turn) -> str:
    """Return the message that a turn answers."""
    said = Message.objects.filter(turn=turn, role=Role.USER).order_by("position").first()
    if said is None:
        raise NotFound("This turn has no message.", "Write it anew.")
    return said.content


def _beside(turn: Turn, content: str) -> Turn:
    """Open a turn that follows the same one as `turn`."""
    conversation = turn.conversation
    agent = agent_visible_to(conversation.user, conversation.agent.slug)
    turns_close_stale(conversation.pk)
    with transaction.atomic():
        now = locked(conversation.pk)
        if turn.parent_id is None and now.title == title_from(said_in(turn)):
            now.title = ""  # it is taken from the message anew
        made = turn_open(now, agent, content, parent_id=turn.parent_id)
        transaction.on_commit(partial(turn_start, made.pk))
    conversation.head, conversation.title = made, now.title
    made.conversation = conversation
    return made
