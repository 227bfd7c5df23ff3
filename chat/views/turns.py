"""What happens inside a conversation: a message, its live answer, the end of it."""

from collections.abc import Callable
from functools import partial
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import reswap, retarget

from chat import selectors, services
from chat.forms import MessageForm
from chat.models import Conversation, Turn
from chat.rendering import shown_turn
from chat.streams import event_stream, html_stream, last_seen
from chat.views.pages import conversation_page
from config.lib.errors import DomainError
from config.lib.htmx import wants_fragment
from config.lib.http import SignedInRequest


@login_required
@require_POST
def message_send(request: SignedInRequest, conversation_id: UUID) -> HttpResponse:
    """Send a message; htmx gets the turn, which follows itself live."""
    conversation = selectors.conversation_of(request.user, conversation_id)
    form = MessageForm(request.POST)
    content = form.cleaned_data["content"] if form.is_valid() else ""
    return _sent(request, conversation, partial(services.message_send, content=content), content)


def _sent(
    request: SignedInRequest,
    conversation: Conversation,
    send: Callable[[Conversation], Turn],
    content: str = "",
) -> HttpResponse:
    """Send a message and answer with its turn, or say why it was not taken."""
    try:
        turn = send(conversation)
    except DomainError as error:
        if not wants_fragment(request):
            return conversation_page(
                request, conversation, error=error, content=content, status=error.status
            )
        # 422 is the one refusal that htmx swaps in
        answer = render(request, "chat/_composer_error.html", {"error": error}, status=422)
        return reswap(retarget(answer, "#composer-error"), "innerHTML")
    if not wants_fragment(request):
        return redirect("chat:conversation_detail", conversation.pk)
    context = {"conversation": turn.conversation, "shown": shown_turn(turn)}
    return render(request, "chat/_turn_added.html", context)


@login_required
@require_POST
def turn_stop(request: SignedInRequest, conversation_id: UUID, turn_id: UUID) -> HttpResponse:
    """Stop the agent; the page learns of the end from the stream."""
    services.turn_stop(selectors.turn_of(request.user, conversation_id, turn_id))
    if wants_fragment(request):
        return HttpResponse(status=204)
    return redirect("chat:conversation_detail", conversation_id)


@login_required
@require_safe
def turn_stream(
    request: SignedInRequest, conversation_id: UUID, turn_id: UUID
) -> StreamingHttpResponse:
    """Stream what changes on the page until the turn is over."""
    turn = selectors.turn_of(request.user, conversation_id, turn_id)
    return event_stream(html_stream(turn, after=last_seen(request)))
