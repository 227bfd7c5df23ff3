"""Messages that were sent while the agent was not done: each goes out when its turn comes.

The next one is sent in the transaction that completes the turn before it, so it is sent exactly
once, whichever process does that. After a turn that failed or was stopped they are held, until a
person sends the first of them.
"""

from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from agents.selectors import agent_visible_to
from chat.errors import QueueFull, TurnOpen
from chat.models import Conversation, QueuedMessage, Turn
from chat.opening import locked, open_turn_of, turn_open
from chat.secrecy import Secrecy
from config.lib.errors import NotFound

MOST_QUEUED = 20
"""Messages of one conversation that may wait."""


def queue_of(conversation: Conversation) -> QuerySet[QueuedMessage]:
    """Return the messages that wait, the next one first."""
    return conversation.queued.order_by("created_at", "pk")


def message_queue(conversation: Conversation, content: str) -> QueuedMessage:
    """Let a message wait, at the end of a locked conversation's queue; raises QueueFull."""
    if conversation.queued.count() >= MOST_QUEUED:
        raise QueueFull(f"{MOST_QUEUED} messages wait already.")
    return QueuedMessage.objects.create(conversation=conversation, content=content)


def place_of(message: QueuedMessage) -> int:
    """Return how many messages are sent before a waiting one is, and that one."""
    return message.conversation.queued.filter(created_at__lte=message.created_at).count()


def queued_take_back(conversation: Conversation, queued_id: UUID) -> str:
    """Remove a message from the queue and return it; raises NotFound where it waits no more."""
    with transaction.atomic():
        waiting = conversation.queued.select_for_update().filter(pk=queued_id).first()
        if waiting is None:
            raise NotFound("This message waits no more.", "It may have been sent; reload the page.")
        waiting.delete()
    return waiting.content


@transaction.atomic
def first_send(conversation: Conversation) -> Turn:
    """Open the turn of the first message that is held; the caller starts it once it is committed.

    Raises TurnOpen while the agent is not done, and NotFound where nothing waits.
    """
    agent_visible_to(conversation.user, conversation.agent.slug)
    now = locked(conversation.pk)
    if standing := open_turn_of(now):
        raise TurnOpen(turn=str(standing.pk))
    turn = _next_open(now, parent_id=now.head_id)
    if turn is None:
        raise NotFound("No message waits.", "Write one.")
    return turn


def next_after(turn: Turn) -> Turn | None:
    """Open the turn of the next message behind one that has just been completed, if one waits.

    The caller holds the conversation's lock (`turn_locked`) since before the turn was closed, and
    starts the new one once all is committed. The queue is held when the person asked to stop just
    before the answer was complete, and when they may no longer talk to the agent.
    """
    conversation = turn.conversation
    if turn.stop_requested_at or not conversation.queued.exists():
        return None
    try:
        agent_visible_to(conversation.user, conversation.agent.slug)
    except NotFound:
        return None
    return _next_open(conversation, parent_id=turn.pk)


def turn_locked(turn_id: UUID) -> Turn | None:
    """Lock the conversation of a turn and return the turn; None when it was deleted."""
    related = Conversation.objects.select_related("agent", "user").select_for_update(of=("self",))
    conversation = related.filter(turns=turn_id).first()
    turn = Turn.objects.filter(pk=turn_id).first() if conversation else None
    if conversation and turn:
        turn.conversation = conversation
    return turn


def _next_open(conversation: Conversation, *, parent_id: UUID | None) -> Turn | None:
    """Take the first message from a locked conversation's queue and open its turn."""
    waiting = queue_of(conversation).select_for_update().first()
    if waiting is None:
        return None
    waiting.delete()
    # what became known since it was written is kept out of it too
    content = Secrecy(conversation).look().text(waiting.content)
    return turn_open(conversation, conversation.agent, content, parent_id=parent_id)
