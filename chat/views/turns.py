"""What happens inside a conversation: a message, its live answer, the end of it."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from chat import selectors, services
from chat.forms import MessageForm
from chat.models import Turn
from chat.streams import html_stream, last_seen
from chat.views.answers import queue_changed, refused, turn_added
from config.lib.errors import DomainError
from config.lib.event_streams import event_stream
from config.lib.htmx import wants_fragment
from config.lib.http import SignedInRequest


@login_required
@require_POST
def message_send(request: SignedInRequest, conversation_id: UUID) -> HttpResponse:
    """Send a message; htmx gets the turn, which follows itself live, or the queue."""
    conversation = selectors.conversation_of(request.user, conversation_id)
    form = MessageForm(request.POST)
    content = form.cleaned_data["content"] if form.is_valid() else ""
    try:
        taken = services.message_send_or_queue(conversation, content=content)
    except DomainError as error:
        return refused(request, conversation, error, content)
    if isinstance(taken, Turn):
        return turn_added(request, taken)
    return queue_changed(request, conversation)


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
