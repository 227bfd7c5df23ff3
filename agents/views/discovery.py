"""What programs can find here, for people."""

import json

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from agents.discovery.audience import everybody
from agents.discovery.inventory import public_inventory
from agents.discovery.listing import Page, page_of
from config.lib.errors import InvalidInput
from config.lib.types import JsonObject
from registry.models.health import HealthState

PAGE_SIZE = 50


@require_safe
def discovery(request: HttpRequest) -> HttpResponse:
    """Show the public list, its scopes, and how programs ask for it. Anybody may look."""
    cursor = request.GET.get("cursor", "")
    try:
        page = page_of(everybody(), limit=PAGE_SIZE, cursor=cursor)
    except InvalidInput:
        cursor, page = "", page_of(everybody(), limit=PAGE_SIZE)
    context = {
        "tools": _told(page),
        "next": page.next,
        "is_first": not cursor,
        "inventory": public_inventory(),
        "address": request.build_absolute_uri(reverse("discovery")),
    }
    return render(request, "agents/discovery/page.html", context)


def _told(page: Page) -> list[JsonObject]:
    """Return the tools as templates read them; a state that is no trouble is not told."""
    told: list[JsonObject] = []
    for entry, scopes in page.found:
        tool = json.loads(entry.made(scopes)[0])
        quiet = tool["health"] in (HealthState.HEALTHY, HealthState.UNKNOWN)
        state = "" if quiet else HealthState(tool["health"]).label
        told.append({**tool, "state": state})
    return told
