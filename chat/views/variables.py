"""Values for the tools of a conversation: names are shown, values never."""

from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from agents.credentials import ENV_NAME
from chat import selectors, services
from chat.forms import MissingForm, VariableForm
from chat.models import Conversation, Turn
from chat.models.turn import OPEN
from chat.variables import variable_forget as forget
from chat.variables import variables_of
from config.lib.errors import DomainError
from config.lib.htmx import render_page, wants_fragment
from config.lib.http import SignedInRequest

MOST_NAMES = 20
"""Variables that one form asks for."""


@login_required
@require_POST
def variable_set(request: SignedInRequest, conversation_id: UUID) -> HttpResponse:
    """Set or replace one variable of a conversation."""
    conversation = selectors.conversation_of(request.user, conversation_id)
    form = VariableForm(request.POST)
    form.is_valid()
    values = {form.cleaned_data["name"].strip(): form.cleaned_data["value"]}
    try:
        services.values_set(conversation, values, keep="conversation")
    except DomainError as error:
        return _panel(request, conversation, error, name=form.cleaned_data["name"])
    return _panel(request, conversation)


@login_required
@require_POST
def variable_forget(request: SignedInRequest, conversation_id: UUID) -> HttpResponse:
    """Remove a variable from a conversation."""
    conversation = selectors.conversation_of(request.user, conversation_id)
    forget(conversation, request.POST.get("name", ""))
    return _panel(request, conversation)


@login_required
@require_http_methods(["GET", "POST"])
def turn_values(request: SignedInRequest, turn_id: UUID) -> HttpResponse:
    """Ask for the values that a tool lacked in a turn, store them, and offer to try again."""
    turn = selectors.turn_of_person(request.user, turn_id)
    names = _names(request)
    missing = services.names_unset(turn.conversation, names)
    sent = request.POST if request.method == "POST" else None
    form = MissingForm(
        sent,
        names=missing,
        agent=turn.conversation.agent,
        user=request.user,
    )
    if form.is_valid():
        data = dict(form.cleaned_data)
        keep = cast(services.ValueScope, data.pop("keep"))
        try:
            services.values_set(turn.conversation, data, keep=keep)
        except DomainError as error:
            form.add_error(None, f"{error.message} {error.hint}")
        else:
            missing = []
    return _asked(request, turn, names, form if missing else None)


def _asked(
    request: SignedInRequest, turn: Turn, names: list[str], form: MissingForm | None
) -> HttpResponse:
    turn.refresh_from_db(fields=["status"])
    context: dict[str, Any] = {
        "conversation": turn.conversation,
        "variables": variables_of(turn.conversation),
        "turn": turn,
        "names": names,
        "form": form,
        "is_over": turn.status not in OPEN,
        "was_sent": request.method == "POST",
    }
    return render_page(
        request,
        "chat/turn_values.html",
        context,
        fragment="chat/_turn_values.html",
        status=422 if form and form.errors else 200,
    )


def _names(request: SignedInRequest) -> list[str]:
    """Return the variables that are asked for, each once."""
    named = dict.fromkeys(request.GET.getlist("name")[:MOST_NAMES])
    return [name for name in named if ENV_NAME.fullmatch(name)]


def _panel(
    request: SignedInRequest,
    conversation: Conversation,
    error: DomainError | None = None,
    name: str = "",
) -> HttpResponse:
    if not wants_fragment(request):
        if error:
            messages.error(request, f"{error.message} {error.hint}")
        return redirect("chat:conversation_detail", conversation.pk)
    context = {
        "conversation": conversation,
        "variables": variables_of(conversation),
        "in_use": True,
        "variable_error": error,
        "variable_name": name,
    }
    return render(request, "chat/_variables.html", context, status=422 if error else 200)
