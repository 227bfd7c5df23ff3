"""Take a labelled query for the tool search from a real turn."""

from uuid import UUID

from django.contrib.auth.models import User

from agents.models import SearchCase
from agents.search_cases import CaseDraft, case_create
from chat.intent import extract_intent, recent_context
from chat.models import Message, Turn
from chat.models.message import Role
from chat.secrecy import Secrecy
from chat.selectors import path_to, turn_of_person
from config.lib.errors import NotFound

SAID_BEFORE = 20
"""Earlier messages that are read to find the few that were searched with."""


def turn_labelled_by(user: User, turn_id: UUID) -> Turn:
    """Return a turn of a person's own conversation with their own agent, or raise NotFound."""
    turn = turn_of_person(user, turn_id)
    if turn.conversation.agent.owner_id != user.pk:
        raise NotFound(
            "There is no such turn with an agent of yours.",
            "Only the owner of an agent says what it should have found.",
        )
    return turn


def draft_from(turn: Turn) -> CaseDraft:
    """Return what the turn searched with: the need and what was said before, masked."""
    said = Message.objects.filter(role=Role.USER, turn__in=path_to(turn.pk, most=SAID_BEFORE))
    latest = said.order_by("-turn__number", "-position").values_list("content", flat=True)
    texts = list(latest[:SAID_BEFORE])[::-1]
    masker = Secrecy(turn.conversation).look()
    recent = recent_context([{"role": Role.USER, "content": text} for text in texts])
    return CaseDraft(
        query=masker.text(extract_intent(texts[-1])) if texts else "",
        recent=tuple(masker.text(text) for text in recent),
    )


def turn_label(
    turn: Turn, *, by: User, query: str, recent: list[str], expected: set[UUID]
) -> SearchCase:
    """Keep what a turn should have found; values that its tools may read are masked.

    Raises as `agents.search_cases.case_create` does.
    """
    masker = Secrecy(turn.conversation).look()
    return case_create(
        turn.conversation.agent,
        by=by,
        query=masker.text(query),
        recent=[masker.text(text) for text in recent],
        expected=expected,
        turn_id=turn.pk,
    )
