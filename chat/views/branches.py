"""Another answer, another message, another branch: each answers with the thread as it then is."""

from collections.abc import Callable
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import reswap, retarget

from chat import branches, selectors
from chat.forms import MessageForm
from chat.models import Turn
from chat.views.pages import conversation_page, earlier_than, turns_shown
from config.lib.errors import DomainError
from config.lib.htmx import wants_fragment
from config.lib.http import SignedInRequest


@login_required
@require_POST
def turn_regenerate(request: SignedInRequest, turn_id: UUID) -> HttpResponse:
    """Have a message answered once more."""
    turn = selectors.turn_of_person(request.user, turn_id)
    return _branched(request, turn, lambda: branches.turn_regenerate(turn))


@login_required
@require_POST
def turn_show(request: SignedInRequest, turn_id: UUID) -> HttpResponse:
    """Show the branch of a turn."""
    turn = selectors.turn_of_person(request.user, turn_id)
    return _branched(request, turn, lambda: branches.turn_show(turn))


@login_required
@require_http_methods(["GET", "POST"])
def message_edit(request: SignedInRequest, turn_id: UUID) -> HttpResponse:
    """Write another message in the place of one; what is written stays when it is refused."""
    turn = selectors.turn_of_person(request.user, turn_id)
    if request.method == "GET":
        return _form(request, turn, branches.said_in(turn))
    form = MessageForm(request.POST)
    content = form.cleaned_data["content"] if form.is_valid() else ""
    try:
        branches.message_edit(turn, content=content)
    except DomainError as error:
        return _form(request, turn, request.POST.get("content", ""), error)
    return _shown(request, turn)


def _form(
    request: SignedInRequest, turn: Turn, content: str, error: DomainError | None = None
) -> HttpResponse:
    context = {
        "conversation": turn.conversation,
        "turn": turn,
        "content": content,
        "error": error,
    }
    if wants_fragment(request):
        # 422 is the one refusal that htmx swaps in
        answer = render(request, "chat/_message_edit.html", context, status=422 if error else 200)
        return retarget(reswap(answer, "innerHTML"), f"#turn-{turn.pk}-said")
    return render(request, "chat/message_edit.html", context, status=error.status if error else 200)


def _branched(request: SignedInRequest, turn: Turn, act: Callable[[], object]) -> HttpResponse:
    """Act on the branches and answer with the thread, or say why nothing was done."""
    try:
        act()
    except DomainError as error:
        if not wants_fragment(request):
            return conversation_page(request, turn.conversation, error=error, status=error.status)
        answer = render(request, "chat/_composer_error.html", {"error": error}, status=422)
        return reswap(retarget(answer, "#composer-error"), "innerHTML")
    return _shown(request, turn)


def _shown(request: SignedInRequest, turn: Turn) -> HttpResponse:
    """Answer with the branch that is shown now."""
    conversation = selectors.conversation_of(request.user, turn.conversation_id)
    if not wants_fragment(request):
        return redirect("chat:conversation_detail", conversation.pk)
    turns = turns_shown(conversation)
    context = {
        "conversation": conversation,
        "turns": turns,
        "earlier": earlier_than(turns),
        "running": next((shown.turn for shown in turns if shown.is_open), None),
    }
    return render(request, "chat/_thread_shown.html", context)
