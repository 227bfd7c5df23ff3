"""Pages of agents."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from agents import offering, selectors, services
from agents.choosing import is_search, search_of
from agents.forms import AgentForm, ids_of
from agents.models import Agent
from agents.usage import lately_used
from config.lib.errors import InvalidInput
from config.lib.form_errors import show_refusal
from config.lib.htmx import render_page
from config.lib.http import SignedInRequest
from config.lib.paging import CappedPaginator

PAGE_SIZE = 24


@login_required
def agent_list(request: SignedInRequest) -> HttpResponse:
    """List the agents a person may talk to."""
    agents = (
        selectors.agents_visible_to(request.user)
        .annotate(tool_count=Count("links"))
        .order_by("name", "pk")
    )
    page = CappedPaginator(agents, PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "agents/list.html", {"page": page})


@login_required
@require_http_methods(["GET", "POST"])
def agent_create(request: SignedInRequest) -> HttpResponse:
    """Make an agent."""
    form = AgentForm(request.POST or None, user=request.user)
    if form.is_valid():
        try:
            agent = services.agent_create(request.user, **form.cleaned_data)
        except InvalidInput as error:
            show_refusal(form, error)
        else:
            messages.success(request, f"{agent.name} is ready. Now choose its tools.")
            return redirect("agents:agent_detail", agent.slug)
    status = 400 if form.errors else 200
    return render(request, "agents/form.html", {"form": form}, status=status)


@login_required
def agent_detail(request: SignedInRequest, slug: str) -> HttpResponse:
    """Show an agent with its tools and what it has used."""
    agent = selectors.agent_visible_to(request.user, slug)
    return render(request, "agents/detail.html", _detail(request, agent))


@login_required
@require_http_methods(["GET", "POST"])
def agent_edit(request: SignedInRequest, slug: str) -> HttpResponse:
    """Change an agent's own fields."""
    agent = selectors.agent_owned_by(request.user, slug)
    form = AgentForm(request.POST or None, instance=agent, user=request.user)
    if form.is_valid():
        try:
            services.agent_update(selectors.agent_owned_by(request.user, slug), **form.cleaned_data)
        except InvalidInput as error:
            show_refusal(form, error)
        else:
            messages.success(request, "Saved.")
            return redirect("agents:agent_detail", slug)
    status = 400 if form.errors else 200
    return render(request, "agents/form.html", {"form": form, "agent": agent}, status=status)


@login_required
@require_POST
def agent_delete(request: SignedInRequest, slug: str) -> HttpResponse:
    """Delete an agent with its conversations."""
    agent = selectors.agent_owned_by(request.user, slug)
    services.agent_delete(agent)
    messages.success(request, f"{agent.name} and its conversations are deleted.")
    return redirect("agents:agent_list")


@login_required
@require_http_methods(["GET", "POST"])
def agent_tools(request: SignedInRequest, slug: str) -> HttpResponse:
    """Link and unlink tools with one list of checkboxes."""
    agent = selectors.agent_owned_by(request.user, slug)
    if request.method == "POST" and not is_search(request):
        services.tools_set(agent, ids_of(request.POST.getlist("tools")))
        messages.success(request, "The agent's tools are saved.")
        if not request.htmx:  # type: ignore[attr-defined]
            return redirect("agents:agent_detail", slug)
    return render_page(
        request, "agents/tools.html", _detail(request, agent), fragment="agents/_tools.html"
    )


@login_required
@require_POST
def agent_offer(request: SignedInRequest, slug: str) -> HttpResponse:
    """Offer an agent to others as a tool, or take the offer back."""
    agent = selectors.agent_owned_by(request.user, slug)
    if request.POST.get("offer") == "no":
        offering.agent_withdraw(agent)
        messages.success(request, f"{agent.name} is offered no more.")
    else:
        tool = offering.agent_offer(agent)
        messages.success(request, f"Other agents can ask {agent.name} by {tool.wire_name}.")
    return redirect("agents:agent_detail", slug)


@login_required
@require_POST
def agent_grant(request: SignedInRequest, slug: str) -> HttpResponse:
    """Grant the scopes that a linked tool requires."""
    agent = selectors.agent_owned_by(request.user, slug)
    for tool_id in ids_of([request.POST.get("tool", "")]):
        granted = services.scopes_grant(agent, tool_id)
        told = f"{agent.name} is granted {', '.join(granted)}." if granted else "It has them all."
        messages.success(request, told)
    return redirect("agents:agent_detail", slug)


@login_required
@require_POST
def agent_tool_unlink(request: SignedInRequest, slug: str, tool_id: UUID) -> HttpResponse:
    """Take one tool away from an agent, also one that was deleted."""
    agent = selectors.agent_owned_by(request.user, slug)
    services.tool_unlink(agent, tool_id)
    messages.success(request, "The tool is unlinked.")
    return redirect("agents:agent_detail", slug)


@login_required
def agents_using_tool(request: SignedInRequest, tool_id: UUID) -> HttpResponse:
    """Say which agents carry a tool; the tool's page loads this."""
    agents = selectors.agents_using(request.user, tool_id)
    return render(request, "agents/_using_tool.html", {"agents": agents})


def _detail(request: SignedInRequest, agent: Agent) -> dict[str, object]:
    owned = agent.owner_id == request.user.pk
    return {
        "agent": agent,
        "owned": owned,
        "links": selectors.links_of(agent),
        "lost": selectors.links_lost(agent),
        "choices": selectors.tool_choices(agent, *search_of(request)) if owned else None,
        "usage": lately_used(agent),
    }
