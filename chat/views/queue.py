"""The messages that wait: send the first, take one back, remove one."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.views.decorators.http import require_POST

from chat import queueing, selectors, services
from chat.views.answers import queue_changed, refused, turn_added
from config.lib.errors import DomainError
from config.lib.http import SignedInRequest


@login_required
@require_POST
def queue_send(request: SignedInRequest, conversation_id: UUID) -> HttpResponse:
    """Send the first message that is held."""
    conversation = selectors.conversation_of(request.user, conversation_id)
    try:
        turn = services.queue_send(conversation)
    except DomainError as error:
        return refused(request, conversation, error, request.POST.get("content", ""))
    return turn_added(request, turn)


@login_required
@require_POST
def queued_edit(request: SignedInRequest, conversation_id: UUID, queued_id: UUID) -> HttpResponse:
    """Take a message back into the composer, before what is written there."""
    conversation = selectors.conversation_of(request.user, conversation_id)
    written = request.POST.get("content", "").strip()
    try:
        content = queueing.queued_take_back(conversation, queued_id)
    except DomainError as error:
        return refused(request, conversation, error, written)
    content = f"{content}\n\n{written}" if written else content
    return queue_changed(request, conversation, content=content, taken=True)


@login_required
@require_POST
def queued_remove(request: SignedInRequest, conversation_id: UUID, queued_id: UUID) -> HttpResponse:
    """Remove a message that waits."""
    conversation = selectors.conversation_of(request.user, conversation_id)
    written = request.POST.get("content", "")
    try:
        queueing.queued_take_back(conversation, queued_id)
    except DomainError as error:
        return refused(request, conversation, error, written)
    return queue_changed(request, conversation, content=written)
