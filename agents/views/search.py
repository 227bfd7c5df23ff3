"""The search page of an agent: what should be found, whether it is, and how that changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agents import search_cases, search_evaluations, selectors
from agents.choosing import is_search, search_of
from agents.models import Agent, SearchCase, SearchEvaluation
from agents.models.search_case import LONGEST_QUERY, MOST_RECENT, MeasureState
from agents.search_cases import CaseDraft
from agents.search_forms import SearchCaseForm, draft_of
from config.lib.errors import DomainError
from config.lib.form_errors import show_refusal
from config.lib.htmx import render_page
from config.lib.http import SignedInRequest
from config.lib.plots import Plot, Series, lined
from config.lib.types import JsonObject

PAGE_SIZE = 50
SHOWN_IN_TIME = 60
"""Measurements that the plot shows: two months of nights."""

METRICS = (
    (
        "nDCG@5",
        "nDCG@5",
        "plot-1",
        "How high the expected tools are among the first five, above the floor or not.",
    ),
    (
        "recall@5",
        "Recall@5",
        "plot-2",
        "Share of the expected tools among the first five, above the floor or not.",
    ),
    ("MRR@10", "MRR", "plot-3", "One divided by the place of the first expected tool."),
    ("no_answer_accuracy", "No answer", "plot-4", "Share of the rest for which nothing is found."),
)


@dataclass(frozen=True, kw_only=True)
class CaseRow:
    """A labelled query as the list shows it; `result` is what came of it at the last measuring."""

    case: SearchCase
    result: JsonObject | None

    @property
    def rank(self) -> int:
        """Return where it belongs in the list: what failed first."""
        if self.result is None:
            return 1
        return 2 if self.result["passed"] else 0

    @property
    def workbench_url(self) -> str:
        """Return where the search workbench tells why it comes out as it does."""
        asked = {
            "agent": self.case.agent.slug,
            "message": self.case.query,
            "earlier": "\n".join(self.case.recent),
        }
        return f"{reverse('search:workbench')}?{urlencode(asked)}"


@login_required
@require_safe
def search_list(request: SignedInRequest, slug: str) -> HttpResponse:
    """Show the labelled queries of one's own agent, and what came of them."""
    agent = selectors.agent_owned_by(request.user, slug)
    context = _page(request, agent)
    return render_page(
        request, "agents/search/list.html", context, fragment="agents/search/_list.html"
    )


@login_required
@require_http_methods(["GET", "POST"])
def case_create(request: SignedInRequest, slug: str) -> HttpResponse:
    """Add a labelled query by hand."""
    agent = selectors.agent_owned_by(request.user, slug)
    draft = CaseDraft(  # from the search workbench
        query=request.GET.get("query", "")[:LONGEST_QUERY],
        recent=tuple(request.GET.getlist("recent")[-MOST_RECENT:]),
    )
    form = SearchCaseForm(request.POST or None, draft=draft, unsent=is_search(request))
    if form.is_valid():
        try:
            search_cases.case_create(agent, by=request.user, **form.fields_of_case())
        except DomainError as error:
            show_refusal(form, error)
        else:
            messages.success(request, "Kept. Measure now to see how it does.")
            return redirect("agents:search_list", slug)
    return _form(request, agent, form)


@login_required
@require_http_methods(["GET", "POST"])
def case_edit(request: SignedInRequest, slug: str, case_id: UUID) -> HttpResponse:
    """Change a labelled query."""
    case = search_cases.case_owned_by(request.user, slug, case_id)
    form = SearchCaseForm(request.POST or None, draft=draft_of(case), unsent=is_search(request))
    if form.is_valid():
        try:
            search_cases.case_update(case, **form.fields_of_case())
        except DomainError as error:
            show_refusal(form, error)
        else:
            messages.success(request, "Saved. Measure now to see how it does.")
            return redirect("agents:search_list", slug)
    return _form(request, case.agent, form, case)


@login_required
@require_POST
def case_delete(request: SignedInRequest, slug: str, case_id: UUID) -> HttpResponse:
    """Delete a labelled query."""
    search_cases.case_delete(search_cases.case_owned_by(request.user, slug, case_id))
    messages.success(request, "The query is deleted; what was measured stays.")
    return redirect("agents:search_list", slug)


@login_required
@require_POST
def search_measure(request: SignedInRequest, slug: str) -> HttpResponse:
    """Measure the labelled queries of one's own agent now."""
    agent = selectors.agent_owned_by(request.user, slug)
    try:
        search_evaluations.evaluation_request(agent, by=request.user)
    except DomainError as error:
        messages.error(request, f"{error.message} {error.hint}")
    return redirect("agents:search_list", slug)


def _page(request: SignedInRequest, agent: Agent) -> dict[str, Any]:
    recent = list(search_evaluations.evaluations_of(agent)[:SHOWN_IN_TIME])
    done = [item for item in recent if item.state == MeasureState.DONE]
    ranks = done[0].ranks if done else {}
    rows = [
        CaseRow(case=case, result=_fresh(case, ranks, done))
        for case in search_cases.cases_of(agent)
    ]
    rows.sort(key=lambda row: row.rank)
    return {
        "agent": agent,
        "page": Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page")),
        "latest": recent[0] if recent else None,
        "measured": done[0] if done else None,
        "stats": [(label, done[0].metrics.get(key), told) for key, label, _, told in METRICS]
        if done
        else [],
        "plot": _plot(list(reversed(done))),
    }


def _fresh(
    case: SearchCase, ranks: JsonObject, done: Sequence[SearchEvaluation]
) -> JsonObject | None:
    """Return what came of a case; nothing where it was changed after the measuring began."""
    began = done[0].started_at if done else None
    if began is None or case.updated_at > began:
        return None
    found: JsonObject | None = ranks.get(str(case.pk))
    return found


def _plot(done: Sequence[SearchEvaluation]) -> Plot:
    labels = [f"{item.created_at:%-d %b, %H:%M}" for item in done]
    series = [
        Series(name=label, css=css, values=[item.metrics.get(key) for item in done])
        for key, label, css, _ in METRICS
    ]
    return lined(
        "search-quality", "Over time", labels, series, lambda value: f"{value:.2f}", most=1
    )


def _form(
    request: SignedInRequest, agent: Agent, form: SearchCaseForm, case: SearchCase | None = None
) -> HttpResponse:
    words, kept = search_of(request)
    context = {
        "agent": agent,
        "form": form,
        "case": case,
        "choices": selectors.tool_choices(agent, words, form.chosen() if kept is None else kept),
    }
    return render(request, "agents/search/form.html", context, status=400 if form.errors else 200)
