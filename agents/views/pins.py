"""The page of one link: what an agent says of a tool that it carries."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from agents import selectors, services
from agents.approvals import policy_of
from agents.link_forms import link_problems, settings_sent
from agents.models import Agent, AgentTool
from agents.models.agent_tool import Approval
from config.lib.errors import DomainError
from config.lib.http import SignedInRequest
from registry.effects import known_of
from registry.errors import ToolUnavailable
from registry.history import standing_in_words, versions_seen_by
from registry.loading import load_spec
from registry.pins import numbers_to_pin
from registry.views.display import pretty


@login_required
@require_http_methods(["GET", "POST"])
def agent_tool_pin(request: SignedInRequest, slug: str, tool_id: UUID) -> HttpResponse:
    """Show the settings of a linked tool, and change those that are sent."""
    agent = selectors.agent_owned_by(request.user, slug)
    link = selectors.link_of(agent, tool_id)
    if request.method == "GET":
        return render(request, "agents/link.html", _shown(request, agent, link))
    try:
        saved = services.tool_link(agent, tool_id, **settings_sent(request.POST.dict()))
    except DomainError as error:
        if not (problems := link_problems(error)):
            raise
        sent = _shown(request, agent, link, request.POST) | {"problems": problems}
        return render(request, "agents/link.html", sent, status=int(error.status))
    number = saved.pinned_version
    told = f"stays at version {number}" if number else "follows the live version"
    messages.success(request, f"Saved. {link.tool.wire_name} {told}.")
    return redirect("agents:agent_detail", slug)


def _shown(
    request: SignedInRequest, agent: Agent, link: AgentTool, sent: QueryDict | None = None
) -> dict[str, object]:
    """Return what the page needs; what was `sent` and refused stands in its fields again."""
    numbers = numbers_to_pin(link.tool, request.user)
    wanted = {*numbers, link.pinned_version or link.tool.version}
    versions = versions_seen_by(request.user, link.tool).filter(number__in=wanted)
    stored = {
        "name": link.name_override,
        "description": link.description_override,
        "config": pretty(link.config) if link.config else "",
        "approval": link.approval,
        "version": str(link.pinned_version or ""),
    }
    try:
        spec = load_spec(link.tool, link.pinned_version)
    except ToolUnavailable:
        spec = None
    return {
        "agent": agent,
        "link": link,
        "rows": [(version, standing_in_words(link.tool, version)) for version in versions],
        "typed": stored | (sent.dict() if sent else {}),
        "approvals": Approval.choices,
        "verdict": policy_of(agent)(spec) if spec else None,
        "known": known_of(link.tool),
        "own_description": spec.description if spec else link.tool.description,
        "arguments": list(spec.input_schema.get("properties", {}).items()) if spec else [],
        "problems": {},
    }
