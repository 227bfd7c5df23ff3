"""Write a new turn with its message: what sending, branching and the queue have in common.

Whoever opens or ends a turn locks the conversation first, so that two never do so at once.
"""

from uuid import UUID

from django.conf import settings

from agents.models import Agent
from chat.errors import TurnOpen
from chat.models import Conversation, Message, Turn
from chat.models.message import Role
from chat.models.turn import OPEN
from config.lib.errors import InvalidInput
from config.lib.jsontext import clean_text

LONGEST_MESSAGE = 100_000
LONGEST_TITLE = 120


def locked(conversation_id: UUID) -> Conversation:
    """Lock a conversation until the end of the transaction, and return it as it is now."""
    return Conversation.objects.select_for_update().get(pk=conversation_id)


def open_turn_of(conversation: Conversation) -> Turn | None:
    """Return the turn that the agent is not done with, if there is one."""
    return conversation.turns.filter(status__in=OPEN).first()


def turn_open(
    conversation: Conversation, agent: Agent, content: str, *, parent_id: UUID | None
) -> Turn:
    """Write the turn that follows `parent_id`, with its message, into a locked conversation.

    It becomes the end of the branch that is shown. Raises TurnOpen while another one is open.
    """
    if standing := open_turn_of(conversation):
        raise TurnOpen(turn=str(standing.pk))
    last = conversation.turns.order_by("-number").values_list("number", flat=True).first()
    turn = Turn.objects.create(
        conversation=conversation,
        number=(last or 0) + 1,
        parent_id=parent_id,
        model=agent.model or settings.OUTFITTER_MODEL,
    )
    Message.objects.create(turn=turn, position=0, role=Role.USER, content=content)
    conversation.title = conversation.title or title_from(content)
    conversation.head = turn
    conversation.save(update_fields=["title", "head", "updated_at"])
    return turn


def checked_content(content: str) -> str:
    """Return a message as it is kept; raises InvalidInput where it is empty or too long."""
    content = clean_text(content).replace("\r\n", "\n").strip()  # forms end lines with both
    if not content:
        raise InvalidInput("The message is empty.", "Write what the agent should do.")
    if len(content) > LONGEST_MESSAGE:
        raise InvalidInput(
            f"The message has {len(content):,} characters; at most {LONGEST_MESSAGE:,} are taken.",
            "Shorten it, or send it in parts.",
        )
    return content


def title_from(content: str) -> str:
    """Return the title that a conversation has of its first message."""
    words = " ".join(content.partition("```")[0].split()).rstrip(": ") or " ".join(content.split())
    return words if len(words) <= LONGEST_TITLE else f"{words[: LONGEST_TITLE - 1]}…"
