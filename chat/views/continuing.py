"""Go on with a turn that failed or was stopped."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST
from django_htmx.http import HttpResponseClientRefresh

from chat import selectors
from chat.continuing import turn_continue as go_on
from config.lib.errors import DomainError
from config.lib.htmx import wants_fragment
from config.lib.http import SignedInRequest


@login_required
@require_POST
def turn_continue(request: SignedInRequest, turn_id: UUID) -> HttpResponse:
    """Take a turn up where it broke off; the conversation shows it live."""
    turn = selectors.turn_of_person(request.user, turn_id)
    try:
        go_on(turn)
    except DomainError as error:
        messages.error(request, f"{error.message} {error.hint}")
    if wants_fragment(request):
        return HttpResponseClientRefresh()
    return redirect("chat:conversation_detail", turn.conversation_id)
