"""Say from a turn what the search should have found."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from agents.choosing import is_search, search_of
from agents.search_forms import SearchCaseForm
from agents.selectors import tool_choices
from chat import labelling
from config.lib.errors import DomainError
from config.lib.form_errors import show_refusal
from config.lib.http import SignedInRequest


@login_required
@require_http_methods(["GET", "POST"])
def turn_label(request: SignedInRequest, turn_id: UUID) -> HttpResponse:
    """Keep the message of a turn as a labelled query of its agent."""
    turn = labelling.turn_labelled_by(request.user, turn_id)
    agent = turn.conversation.agent
    draft = labelling.draft_from(turn)
    form = SearchCaseForm(request.POST or None, draft=draft, unsent=is_search(request))
    if form.is_valid():
        try:
            labelling.turn_label(turn, by=request.user, **form.fields_of_case())
        except DomainError as error:
            show_refusal(form, error)
        else:
            messages.success(request, "Kept. Measure now to see how it does.")
            return redirect("agents:search_list", agent.slug)
    words, kept = search_of(request)
    context = {
        "agent": agent,
        "turn": turn,
        "form": form,
        "choices": tool_choices(agent, words, form.chosen() if kept is None else kept),
    }
    return render(request, "chat/label.html", context, status=400 if form.errors else 200)
