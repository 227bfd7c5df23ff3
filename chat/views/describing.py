"""Describe a sequence in words."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from chat.demo import is_demo
from chat.describing import LONGEST, Described, described, models_for, tools_for
from chat.threads import in_thread
from config.lib.errors import DomainError
from config.lib.jsontext import clean_text
from sequences.beginnings import Begun, draft_from_document


@login_required
@require_http_methods(["GET", "POST"])
async def sequence_describe(request: HttpRequest) -> HttpResponse:
    """Take a person's words and open the draft that a model makes of them."""
    user = cast(User, await request.auser())
    words = clean_text(request.POST.get("words", ""))
    model = request.POST.get("model", "")
    if request.method == "GET":
        return await in_thread(_shown, request, user, words, model, None)
    try:
        outcome = await described(user, words, model)
        begun = await in_thread(_begun, user, outcome)
    except DomainError as error:
        return await in_thread(_shown, request, user, words, model, error)
    for note in _notes(outcome, begun):
        messages.info(request, note)
    return redirect("sequences:draft_edit", begun.draft.pk)


def _begun(user: User, outcome: Described) -> Begun:
    return draft_from_document(user, outcome.whole, label="Described in words")


def _notes(outcome: Described, begun: Begun) -> list[str]:
    """Return what was made of the words and what is left to do."""
    tries = "" if outcome.rounds == 1 else f" It took {outcome.rounds} tries."
    return [
        (outcome.made_of_it or "This is what the model made of your words.") + tries,
        *(f"Left open: {each}" for each in outcome.left_open),
        *begun.notes,
        "Nothing is published. Look through the steps, test it, then publish it.",
    ]


def _shown(
    request: HttpRequest, user: User, words: str, model: str, error: DomainError | None
) -> HttpResponse:
    models = models_for(user)
    context = {
        "words": words,
        "models": [(name, is_demo(name)) for name in models],
        "model": model if model in models else models[0],
        "longest": LONGEST,
        "error": error,
        "candidates": tools_for(user, words[:LONGEST]) if error and words.strip() else (),
    }
    status = int(error.status) if error else 200
    return render(request, "sequences/describe.html", context, status=status)
