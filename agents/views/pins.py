"""The page on which an agent's link is held to a version of its tool."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from agents import selectors, services
from config.lib.errors import InvalidInput
from config.lib.http import SignedInRequest
from config.lib.numbers import whole_number
from registry.history import standing_in_words, versions_seen_by
from registry.pins import numbers_to_pin


@login_required
@require_http_methods(["GET", "POST"])
def agent_tool_pin(request: SignedInRequest, slug: str, tool_id: UUID) -> HttpResponse:
    """Show the versions of a linked tool, and pin the link to one or to none."""
    agent = selectors.agent_owned_by(request.user, slug)
    link = selectors.link_of(agent, tool_id)
    if request.method == "POST":
        number = _number(request.POST.get("version", ""))
        services.tool_pin(link, number)
        told = f"stays at version {number}" if number else "follows the live version"
        messages.success(request, f"{link.tool.wire_name} {told}.")
        return redirect("agents:agent_detail", slug)
    numbers = numbers_to_pin(link.tool, request.user)
    wanted = {*numbers, link.pinned_version or link.tool.version}
    versions = versions_seen_by(request.user, link.tool).filter(number__in=wanted)
    rows = [(version, standing_in_words(link.tool, version)) for version in versions]
    return render(request, "agents/pin.html", {"agent": agent, "link": link, "rows": rows})


def _number(text: str) -> int | None:
    if not text.strip():
        return None
    number = whole_number(text)
    if not number:
        raise InvalidInput("This is not the number of a version.", "Choose one from the list.")
    return number
