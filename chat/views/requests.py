"""Answer what a turn waits for."""

from typing import cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from chat import requests, services
from chat.forms import CONVERSATION
from config.lib.errors import DomainError
from config.lib.http import SignedInRequest

VALUE = "value."
"""Starts the name of a field that holds a secret: `value.EXA_API_KEY`."""


@login_required
@require_POST
def request_answer(request: SignedInRequest, request_id: UUID) -> HttpResponse:
    """Take a person's answer; the conversation says what came of it."""
    asked = requests.request_of(request.user, request_id)
    sent = request.POST
    reply = requests.Reply(
        decision=sent.get("decision", ""),
        arguments=sent.get("arguments"),
        note=sent.get("note", ""),
        remember=sent.get("remember") == "true",
        values={name.removeprefix(VALUE): sent[name] for name in sent if name.startswith(VALUE)},
        keep=cast("services.ValueScope", sent.get("keep", CONVERSATION)),
        text=sent.get("text", ""),
    )
    try:
        requests.request_answer(request.user, request_id, reply)
    except DomainError as error:
        messages.error(request, f"{error.message} {error.hint}")
    return redirect("chat:conversation_detail", asked.turn.conversation_id)
