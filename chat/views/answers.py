"""What views inside a conversation answer with: fragments for htmx, pages for everybody else."""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django_htmx.http import reswap, retarget

from chat.models import Conversation, Turn
from chat.opening import open_turn_of
from chat.queueing import queue_of
from chat.rendering import shown_turn
from chat.views.pages import conversation_page
from config.lib.errors import DomainError
from config.lib.htmx import wants_fragment
from config.lib.http import SignedInRequest


def turn_added(request: SignedInRequest, turn: Turn) -> HttpResponse:
    """Answer with a turn that was just opened, for the end of the thread."""
    if not wants_fragment(request):
        return redirect("chat:conversation_detail", turn.conversation_id)
    context = {
        "conversation": turn.conversation,
        "shown": shown_turn(turn),
        "queued": queue_of(turn.conversation),
    }
    return render(request, "chat/_turn_added.html", context)


def queue_changed(
    request: SignedInRequest, conversation: Conversation, *, content: str = "", taken: bool = False
) -> HttpResponse:
    """Answer with the queue as it is now, and with `content` for the composer, if `taken` back."""
    if not wants_fragment(request):
        if taken or content:
            return conversation_page(request, conversation, content=content)
        return redirect("chat:conversation_detail", conversation.pk)
    context = {
        "conversation": conversation,
        "queued": queue_of(conversation),
        "running": open_turn_of(conversation),
        "content": content,
        "taken": taken,
    }
    return reswap(render(request, "chat/_queue_changed.html", context), "none")


def refused(
    request: SignedInRequest, conversation: Conversation, error: DomainError, content: str = ""
) -> HttpResponse:
    """Say beside the composer why something was not done; what is written stays."""
    if not wants_fragment(request):
        return conversation_page(
            request, conversation, error=error, content=content, status=error.status
        )
    # 422 is the one refusal that htmx swaps in
    answer = render(request, "chat/_composer_error.html", {"error": error}, status=422)
    return reswap(retarget(answer, "#composer-error"), "innerHTML")
