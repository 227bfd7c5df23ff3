"""Answer what a turn waits for: in the flow of the conversation, or on a page of its own."""

from typing import Any, cast
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from chat import requests, services
from chat.answer_forms import Given, fields_of, given
from chat.errors import RequestAnswered
from chat.models import InputRequest
from chat.models.turn import OPEN
from chat.parts import Ask
from chat.rendering import ask_shown
from chat.requests_shown import ask_of_row
from config.lib.errors import DomainError
from config.lib.htmx import render_page, wants_fragment
from config.lib.http import SignedInRequest


@login_required
@require_http_methods(["GET", "POST"])
def request_answer(request: SignedInRequest, request_id: UUID) -> HttpResponse:
    """Show what is asked, or take the answer; what was typed stays when it is refused."""
    row = requests.request_of(request.user, request_id)
    if request.method == "GET":
        return _shown(request, row)
    try:
        answer = given(ask := _ask(row), request.POST)
        row = requests.request_answer(request.user, request_id, _reply(answer))
    except RequestAnswered as error:
        return _shown(request, requests.request_of(request.user, request_id), error)
    except DomainError as error:
        return _shown(request, row, error, sent=_typed(ask, request, error))
    if not wants_fragment(request):
        return redirect("chat:conversation_detail", row.turn.conversation_id)
    return _shown(request, row)


def _reply(answer: Given) -> requests.Reply:
    return requests.Reply(
        decision=answer.decision,
        arguments=answer.arguments,
        note=answer.note,
        remember=answer.remember,
        values=answer.values,
        keep=cast("services.ValueScope", answer.keep),
        text=answer.text,
    )


def _ask(row: InputRequest) -> Ask:
    ask = ask_of_row(row)
    agent = row.turn.conversation.agent
    ask.agent_name = agent.name if agent.owner_id == row.turn.conversation.user_id else ""
    ask.open = row.turn.status in OPEN
    return ask


def _typed(ask: Ask, request: SignedInRequest, error: DomainError) -> dict[str, Any]:
    """Return the form with what was typed; a secret is typed anew."""
    told = error.extra.get("fields") or problems_by_argument(error)
    fields = fields_of(ask, request.POST, told) if ask.kind == "approval" else []
    return {"fields": fields, "typed": request.POST.dict()}


def problems_by_argument(error: DomainError) -> dict[str, str]:
    """Return the message for each argument that does not fit the tool's schema."""
    told: dict[str, str] = {}
    for problem in error.extra.get("problems") or ():
        name = str(problem.get("path", "")).removeprefix("$").lstrip(".").partition(".")[0]
        told.setdefault(name.partition("[")[0], str(problem.get("message", "")))
    return told


def _shown(
    request: SignedInRequest,
    row: InputRequest,
    error: DomainError | None = None,
    sent: dict[str, Any] | None = None,
) -> HttpResponse:
    ask = _ask(row)
    is_asked = ask.answer is None and ask.open
    context: dict[str, Any] = {
        "part": ask,
        "conversation": row.turn.conversation,
        "error": error,
        **(ask_shown(ask) if is_asked else {}),
        **(sent or {}),
    }
    if isinstance(error, RequestAnswered):
        # the card comes to show what was decided: htmx swaps in only what went well
        status = 200 if wants_fragment(request) else error.status
    elif error:
        status = 422 if wants_fragment(request) else error.status
    else:
        status = 200
    return render_page(
        request, "chat/request_detail.html", context, fragment="chat/_ask.html", status=status
    )
