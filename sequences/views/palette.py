"""The palette from which a step's tool is chosen."""

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from config.lib.http import SignedInRequest
from sequences.forms.palette import LONGEST, asks_a_person, tools_for_steps


@login_required
@require_GET
def step_palette(request: SignedInRequest) -> HttpResponse:
    """List the tools that a step may call and that are called so, the most used ones first."""
    text = request.GET.get("q", "")[:LONGEST]
    context = {
        "text": text,
        "tools": tools_for_steps(request.user, text, besides=request.GET.get("besides", "")),
        "asks": asks_a_person(text),
    }
    return render(request, "sequences/_step_palette.html", context)
