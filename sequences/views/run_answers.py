"""What a person says to a run that waits: an answer, or what became of a step in doubt."""

import json
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from config.lib.errors import DomainError, InvalidInput
from config.lib.http import SignedInRequest
from config.lib.types import JsonObject, JsonValue
from registry.schema_forms import arguments_from_form
from sequences import selectors
from sequences.asked import outermost
from sequences.attention import Action, step_resolve
from sequences.models import Run, RunRequest
from sequences.requests import request_answer
from sequences.run_filters import waiting_of
from sequences.views.run_page import VALUE, Refused, run_context

ACTIONS: dict[str, Action] = {"retry": "retry", "done": "done", "skip": "skip"}


@login_required
@require_POST
def answer(request: SignedInRequest, run_id: UUID, ask_id: UUID) -> HttpResponse:
    """Approve or refuse what an approval step asks, with the values of its form and a note."""
    run = selectors.run_of(request.user, run_id)
    asked = selectors.request_of(run, ask_id)
    try:
        approved = {"approve": True, "refuse": False}.get(request.POST.get("decision", ""))
        if approved is None:
            raise InvalidInput("Say whether you approve or refuse.", "Choose one of the buttons.")
        request_answer(
            asked,
            user=request.user,
            approved=approved,
            values=_values(asked, request.POST.dict()) if approved else None,
            note=request.POST.get("note", ""),
        )
    except DomainError as error:
        return _refused(request, run, Refused(asked, request.POST.dict(), error))
    return _onwards(request, run)


@login_required
@require_POST
def resolve(request: SignedInRequest, run_id: UUID, step_id: UUID) -> HttpResponse:
    """Try a step in doubt again, take it as done with the output given as JSON, or skip it."""
    run = selectors.run_of(request.user, run_id)
    step = selectors.step_of(run, step_id)
    try:
        action = ACTIONS.get(request.POST.get("action", ""))
        if action is None:
            raise InvalidInput("Say how the run goes on.", "Choose one of the buttons.")
        output = _output(request.POST.get("output", "")) if action == "done" else None
        step_resolve(step, user=request.user, action=action, output=output)
    except DomainError as error:
        return _refused(request, run, Refused(step, request.POST.dict(), error))
    return _onwards(request, run)


def _values(asked: RunRequest, sent: dict[str, str]) -> JsonObject | None:
    if asked.input_schema is None:
        return None
    texts = {
        name.removeprefix(VALUE): text for name, text in sent.items() if name.startswith(VALUE)
    }
    return arguments_from_form(asked.input_schema, texts)


def _output(text: str) -> JsonValue:
    """Read what a person says a step gave; blank is null."""
    if not text.strip():
        return None
    try:
        value: Any = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            "What the step gave is not JSON.", 'Put a text in quotes: "done".'
        ) from error
    return value


def _no_number(name: str) -> None:
    raise ValueError(name)


def _refused(request: SignedInRequest, run: Run, refused: Refused) -> HttpResponse:
    """Show the page on which the answer was given, with what is wrong beside its form."""
    return render(
        request,
        "sequences/run_detail.html",
        run_context(request.user, outermost(run).pk, refused),
        status=refused.error.status,
    )


def _onwards(request: SignedInRequest, run: Run) -> HttpResponse:
    waiting_of(request.user)  # counted anew for the navigation
    return redirect("sequences:run_detail", outermost(run).pk)
