"""Templates to start from."""

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from config.lib.errors import NotFound
from config.lib.http import SignedInRequest
from sequences.beginnings import draft_from_document
from sequences.portable import resolved
from sequences.template_library import TEMPLATES
from sequences.views.imports import opened
from sequences.views.previews import card_of
from sequences.views.values import pretty


@login_required
@require_safe
def template_list(request: SignedInRequest) -> HttpResponse:
    """Show the sequences that one may start from."""
    cards = [
        {"name": name, "shown": card_of(document), "sample": pretty(document.samples[0].input)}
        for name, document in TEMPLATES.items()
    ]
    return render(request, "sequences/template_list.html", {"cards": cards})


@login_required
@require_POST
def template_start(request: SignedInRequest, template: str) -> HttpResponse:
    """Begin a draft with a template; its example is a saved sample input."""
    document = TEMPLATES.get(template)
    if document is None:
        raise NotFound("There is no such template.", "Choose one of the list.")
    whole = resolved(document, user=request.user)
    label = f"Started from “{document.name}”"
    return opened(request, draft_from_document(request.user, whole, label=label))
