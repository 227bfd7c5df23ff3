"""Pages that connect clients: to an agent, and to all that a person may use."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from agents import selectors, services, tokens
from agents.connect_forms import ClientTokenForm, McpToolsForm, TrialForm
from agents.connecting.clients import clients_for
from agents.connecting.offered import Offered
from agents.connecting.programs import programs_for
from agents.connecting.sites import place_of, target_of
from agents.connecting.trying import connection_tried
from agents.models import Agent
from config.lib.errors import DomainError
from config.lib.htmx import render_page
from config.lib.http import SignedInRequest
from registry.schema_samples import required_samples


@login_required
@require_safe
def connect(request: SignedInRequest, slug: str = "") -> HttpResponse:
    """Show how clients connect to an agent or, without one, to all that the person may use."""
    return _Page(request, slug).answer()


@login_required
@require_POST
def connect_token(request: SignedInRequest, slug: str = "") -> HttpResponse:
    """Make a token for a client; this answer alone has it, within the client's settings."""
    page = _Page(request, slug)
    form = page.token_form = page.make_token_form(request.POST)
    if form.is_valid():
        try:
            _, page.token = tokens.token_create(request.user, **form.asked(page.place.name))
        except DomainError as error:
            form.add_error(None, f"{error.message} {error.hint}")
        else:
            page.chosen = form.cleaned_data["client"]
    return page.answer(status=400 if form.errors else 200)


@login_required
@require_POST
def connect_test(request: SignedInRequest, slug: str = "") -> HttpResponse:
    """Connect as a client does, and tell each step."""
    page = _Page(request, slug)
    form = page.trial_form = TrialForm(request.POST, readers=page.offered.readers)
    if form.is_valid():
        try:
            target = target_of(request, page.place)
            page.steps = connection_tried(request.user, target, page.offered, **form.cleaned_data)
        except DomainError as error:
            form.add_error(None, f"{error.message} {error.hint}")
    return page.answer(status=422 if form.errors else 200, fragment="agents/connect/_trial.html")


@login_required
@require_POST
def connect_tools(request: SignedInRequest, slug: str) -> HttpResponse:
    """Say what MCP clients of an agent are told of."""
    agent = selectors.agent_owned_by(request.user, slug)
    form = McpToolsForm(request.POST)
    if form.is_valid():
        try:
            services.agent_update(agent, **form.cleaned_data)
        except DomainError as error:
            messages.error(request, f"{error.message} {error.hint}")
        else:
            messages.success(request, "Saved. Clients that are connected are told now.")
    return redirect("agents:connect", slug)


class _Page:
    """What the page shows, of an agent or of the registry."""

    def __init__(self, request: SignedInRequest, slug: str) -> None:
        self.request = request
        self.agent: Agent | None = selectors.agent_visible_to(request.user, slug) if slug else None
        self.place = place_of(request, slug)
        self.offered = Offered(request.user, self.agent)
        self.chosen = request.GET.get("client", "")
        self.token = ""
        self.steps: list[Any] = []
        self.token_form = self.make_token_form()
        self.trial_form = TrialForm(readers=self.offered.readers)

    def make_token_form(self, data: Any = None) -> ClientTokenForm:
        named = [
            (each.key, each.name) for each in (*clients_for(self.place), *programs_for(self.place))
        ]
        initial = {"tool_scopes": self.offered.scopes, "client": self.chosen}
        return ClientTokenForm(data, clients=named, initial=initial)

    def answer(self, *, status: int = 200, fragment: str = "") -> HttpResponse:
        page = "agents/connect/page.html"
        if fragment:
            response = render_page(
                self.request, page, self._context(), fragment=fragment, status=status
            )
        else:
            response = render(self.request, page, self._context(), status=status)
        response["Cache-Control"] = "no-store"
        return response

    def _context(self) -> dict[str, Any]:
        readers = self.offered.readers
        called = (
            (readers[0].wire_name, required_samples(dict(readers[0].input_schema)))
            if (readers)
            else None
        )
        return {
            "agent": self.agent,
            "is_connect": True,
            "owned": self.agent is not None and self.agent.owner_id == self.request.user.pk,
            "place": self.place,
            "offered": self.offered,
            "clients": clients_for(self.place, self.token),
            "programs": programs_for(self.place, self.token, called),
            "chosen": self.chosen,
            "token": self.token,
            "token_form": self.token_form,
            "trial_form": self.trial_form,
            "steps": self.steps,
            "is_whole": bool(self.steps) and all(step.is_ok for step in self.steps),
            "test_url": self._url("connect_test"),
            "token_url": self._url("connect_token"),
        }

    def _url(self, name: str) -> str:
        return reverse(f"agents:{name}", args=[self.agent.slug]) if self.agent else reverse(name)
