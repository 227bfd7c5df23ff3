"""Which conversations a person sees. A conversation belongs to one person alone."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet
from django.db.models.expressions import RawSQL

from chat.models import Artifact, Conversation, InputRequest, Message, ModelStep, Turn
from chat.models.turn import OPEN, TurnStatus
from config.lib.errors import NotFound

META_TOOLS = frozenset({"search_tools", "ask_user"})
"""Tools of the conversation itself; a sequence has no use for them."""

TURNS_SHOWN = 30
"""Turns of a conversation on one page; a link leads to the earlier ones."""

LONGEST_PATH = 10_000
"""Turns of one branch that are looked at."""

LARGEST_NUMBER = 2**31 - 1

_PATH = """
    WITH RECURSIVE path AS (
        SELECT id, parent_id, number, 1 AS length FROM chat_turn WHERE id = %s
        UNION ALL
        SELECT earlier.id, earlier.parent_id, earlier.number, path.length + 1
        FROM chat_turn AS earlier JOIN path ON earlier.id = path.parent_id
        WHERE path.length < %s
    )
    SELECT id FROM path WHERE number < %s ORDER BY number DESC LIMIT %s
"""
"""A branch from its last turn back to the first."""

_LEAF = """
    WITH RECURSIVE below AS (
        SELECT id, number FROM chat_turn WHERE id = %s
        UNION ALL
        SELECT later.id, later.number
        FROM chat_turn AS later JOIN below ON later.parent_id = below.id
    )
    SELECT id FROM below ORDER BY number DESC LIMIT 1
"""
"""The latest turn below another one; nothing can follow it, since numbers grow."""


@dataclass(frozen=True, kw_only=True)
class Branches:
    """Which of the turns that follow the same one a turn is; `index` counts from 1."""

    index: int
    count: int
    previous: UUID | None
    next: UUID | None

    @classmethod
    def of(cls, turn_id: UUID, beside: Sequence[UUID]) -> "Branches":
        """Return the place of a turn among those beside it, in the order in which they came."""
        place = beside.index(turn_id)
        return cls(
            index=place + 1,
            count=len(beside),
            previous=beside[place - 1] if place else None,
            next=beside[place + 1] if place + 1 < len(beside) else None,
        )


def conversations_of(user: User) -> QuerySet[Conversation]:
    """Return a person's conversations with their agents, the latest first."""
    return (
        Conversation.objects.filter(user=user)
        .select_related("agent", "user")
        .order_by("-updated_at", "pk")
    )


def conversations_begun_by(user: User) -> QuerySet[Conversation]:
    """Return the conversations that a person began; what agents ask one another is left out.

    Those stand behind the calls that led to them.
    """
    return conversations_of(user).filter(asked_in=None)


def conversations_with_state(user: User) -> QuerySet[Conversation]:
    """Return the conversations that a person began, with whether each waits (`is_waiting`)."""
    waiting = Turn.objects.filter(conversation=OuterRef("pk"), status=TurnStatus.WAITING)
    return conversations_begun_by(user).annotate(is_waiting=Exists(waiting))


def conversation_of(user: User, conversation_id: UUID) -> Conversation:
    """Return one of a person's conversations, or raise NotFound."""
    conversation = conversations_of(user).filter(pk=conversation_id).first()
    if conversation is None:
        raise NotFound(
            "There is no such conversation among yours.", "See your conversations under Chat."
        )
    return conversation


def turns_of(conversation: Conversation, *, before: int | None = None) -> list[Turn]:
    """Return up to `TURNS_SHOWN` turns with their messages, in order: the last, or those before.

    They are those of the branch that is shown.
    """
    turns = path_to(conversation.head_id, before=before, most=TURNS_SHOWN)
    latest = list(turns.prefetch_related(*_shown_with()).order_by("number"))
    for turn in latest:
        turn.conversation = conversation
    return latest


def _shown_with() -> tuple["Prefetch[Any]", ...]:
    """Return the rows from which a turn is shown."""
    told = ModelStep.objects.exclude(attempts=[], compaction=None)
    return (
        Prefetch("messages", Message.objects.order_by("position")),
        Prefetch("input_requests", InputRequest.objects.order_by("created_at", "pk")),
        Prefetch("steps", told.only("turn", "number", "attempts", "compaction").order_by("number")),
    )


def path_to(
    turn_id: UUID | None, *, before: int | None = None, most: int = LONGEST_PATH
) -> QuerySet[Turn]:
    """Return a turn and those that it follows, back to the first; at most the last `most`.

    With `before`, only those with a smaller number.
    """
    limit = LARGEST_NUMBER if before is None else before
    path = RawSQL(_PATH, [turn_id, LONGEST_PATH, limit, most])  # noqa: S611 -- no text of anybody's
    return Turn.objects.filter(pk__in=path)


def leaf_of(turn_id: UUID) -> UUID:
    """Return the latest turn of those that follow a turn, or the turn itself."""
    with connection.cursor() as cursor:
        cursor.execute(_LEAF, [turn_id])
        return cast("UUID", cursor.fetchone()[0])


def following_of(turn: Turn) -> Turn | None:
    """Return the turn that came right behind another one and is not over, with its messages."""
    messages = Prefetch("messages", Message.objects.order_by("position"))
    rows = Turn.objects.filter(parent=turn, status__in=OPEN).prefetch_related(messages)
    following = rows.first()
    if following:
        following.conversation = turn.conversation
    return following


def branches_of(turns: Sequence[Turn]) -> dict[UUID, Branches]:
    """Return the branches beside each of some turns of one conversation, by the turn's id."""
    if not turns:
        return {}
    after = {turn.parent_id for turn in turns}
    follows = Q(parent_id__in=after - {None})
    if None in after:
        follows |= Q(parent=None)
    rows = Turn.objects.filter(follows, conversation_id=turns[0].conversation_id)
    beside: dict[UUID | None, list[UUID]] = defaultdict(list)
    for turn_id, parent_id in rows.order_by("number").values_list("pk", "parent_id"):
        beside[parent_id].append(turn_id)
    return {turn.pk: Branches.of(turn.pk, beside[turn.parent_id]) for turn in turns}


def artifact_of(user: User, artifact_id: UUID) -> Artifact:
    """Return an artifact of one of a person's conversations, or raise NotFound."""
    artifact = Artifact.objects.filter(pk=artifact_id, conversation__user=user).first()
    if artifact is None:
        raise NotFound("There is no such artifact among yours.", "Reload the conversation.")
    return artifact


def has_promotable(turn: Turn) -> bool:
    """Tell whether a tool answered in a turn that is over, so that a sequence can be made of it.

    It reads the messages alone, which a page of turns has at hand.
    """
    if turn.status in OPEN:
        return False
    messages = turn.messages.all()
    names = {call["id"]: call["name"] for message in messages for call in message.tool_calls}
    return any(
        (message.result or {}).get("status") == "succeeded"
        and names.get(message.tool_call_id, "") not in META_TOOLS
        for message in messages
    )


def turn_of_person(user: User, turn_id: UUID) -> Turn:
    """Return a turn of one of a person's conversations, or raise NotFound."""
    related = ("conversation__agent__owner", "conversation__user")
    turn = Turn.objects.filter(pk=turn_id, conversation__user=user).select_related(*related).first()
    if turn is None:
        raise NotFound("There is no such turn among yours.", "Reload the conversation.")
    return turn


def turn_of(user: User, conversation_id: UUID, turn_id: UUID) -> Turn:
    """Return a turn of one of a person's conversations with its messages, or raise NotFound."""
    turn = (
        Turn.objects.filter(pk=turn_id, conversation_id=conversation_id, conversation__user=user)
        .select_related("conversation__agent")
        .prefetch_related(*_shown_with())
        .first()
    )
    if turn is None:
        raise NotFound("There is no such turn in this conversation.", "Reload the conversation.")
    return turn
