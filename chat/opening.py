"""Write a new turn with its message: what sending, branching and the queue have in common.

Whoever opens or ends a turn locks the conversation first, so that two never do so at once.
"""

from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Max, Q, Value

from agents.models import Agent
from chat.errors import TurnOpen
from chat.models import Conversation, Message, Turn
from chat.models.message import Role
from chat.models.turn import OPEN
from config.lib.errors import InvalidInput
from config.lib.jsontext import clean_text

LONGEST_MESSAGE = 100_000
LONGEST_TITLE = 120


@dataclass(frozen=True, kw_only=True)
class State:
    """How a conversation stands: the turn that the agent is not done with, and the last number."""

    open_turn: UUID | None
    last_number: int


def locked(conversation_id: UUID) -> Conversation:
    """Lock a conversation until the end of the transaction, and return it as it is now.

    So are its agent and its person, which are not locked.
    """
    related = Conversation.objects.select_related("agent", "user")
    return related.select_for_update(of=("self",)).get(pk=conversation_id)


def state_of(conversation: Conversation) -> State:
    """Return how a locked conversation stands."""
    read = conversation.turns.aggregate(
        last=Max("number"), open=ArrayAgg("pk", filter=Q(status__in=OPEN), default=Value([]))
    )
    return State(open_turn=next(iter(read["open"]), None), last_number=read["last"] or 0)


def open_turn_of(conversation: Conversation) -> Turn | None:
    """Return the turn that the agent is not done with, if there is one."""
    return conversation.turns.filter(status__in=OPEN).first()


def turn_open(
    conversation: Conversation,
    agent: Agent,
    content: str,
    *,
    parent_id: UUID | None,
    state: State | None = None,
) -> Turn:
    """Write the turn that follows `parent_id`, with its message, into a locked conversation.

    It becomes the end of the branch that is shown. `state` is given where it has been read
    behind the lock. Raises TurnOpen while another one is open.
    """
    state = state or state_of(conversation)
    if state.open_turn:
        raise TurnOpen(turn=str(state.open_turn))
    turn = Turn.objects.create(
        conversation=conversation,
        number=state.last_number + 1,
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
