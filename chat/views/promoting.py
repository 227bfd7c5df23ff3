"""Make a sequence of what an agent did, and open it in the builder."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST
from django_htmx.http import HttpResponseClientRedirect

from chat import selectors
from chat.promoting import program_named, turn_promote
from config.lib.errors import DomainError
from config.lib.htmx import wants_fragment
from config.lib.http import SignedInRequest

DRAFTED = "This draft is yours alone. Look through its inputs and steps, then save it."


@login_required
@require_POST
def promote(request: SignedInRequest, turn_id: UUID) -> HttpResponse:
    """Draft a sequence of a turn's calls, or with `program` of those of one of its programs."""
    turn = selectors.turn_of_person(request.user, turn_id)
    try:
        program = program_named(request.POST.get("program", ""))
        tool = turn_promote(turn, by=request.user, invocation_id=program)
    except DomainError as error:
        messages.error(request, f"{error.message} {error.hint}".strip())
        back = reverse("chat:conversation_detail", args=[turn.conversation_id])
    else:
        messages.success(request, DRAFTED)
        back = reverse("sequences:sequence_edit", args=[tool.pk])
    return HttpResponseClientRedirect(back) if wants_fragment(request) else redirect(back)
