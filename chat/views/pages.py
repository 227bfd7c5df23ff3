"""The page of one conversation, which several views answer with."""

from collections.abc import Sequence
from dataclasses import replace

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render

from chat import selectors
from chat.artifacts import artifacts_of
from chat.demo import is_demo
from chat.endings import turns_close_stale
from chat.models import Conversation
from chat.queueing import queue_of
from chat.rendering import ShownTurn, shown_turn
from chat.variables import variables_of
from config.lib.errors import DomainError
from config.lib.http import SignedInRequest

SHOWN_BESIDE = 20


def turns_shown(conversation: Conversation, *, before: int | None = None) -> list[ShownTurn]:
    """Return the turns of the branch that is shown, each with the branches beside it."""
    turns = selectors.turns_of(conversation, before=before)
    branches = selectors.branches_of(turns)
    return [replace(shown_turn(turn), branches=branches[turn.pk]) for turn in turns]


def earlier_than(turns: Sequence[ShownTurn]) -> int | None:
    """Return the number before which there are more turns, if there are."""
    return turns[0].turn.number if turns and turns[0].turn.parent_id else None


def conversation_page(
    request: SignedInRequest,
    conversation: Conversation,
    *,
    before: int | None = None,
    error: DomainError | None = None,
    content: str = "",
    status: int = 200,
) -> HttpResponse:
    """Render the conversation, with why a message was not taken where that is so."""
    turns_close_stale(conversation.pk)
    turns = turns_shown(conversation, before=before)
    model = conversation.agent.model or settings.OUTFITTER_MODEL
    context = {
        "conversation": conversation,
        "conversations": selectors.conversations_with_state(request.user)[:SHOWN_BESIDE],
        "turns": turns,
        "earlier": earlier_than(turns),
        "running": next((shown.turn for shown in turns if shown.is_open), None),
        "queued": queue_of(conversation),
        "waiting_for": next((shown.waiting_for for shown in turns if shown.is_open), ()),
        "model": model,
        "is_demo": is_demo(model),
        "variables": variables_of(conversation),
        "artifacts": artifacts_of(conversation),
        "error": error,
        "content": content,
    }
    return render(request, "chat/conversation_detail.html", context, status=status)
