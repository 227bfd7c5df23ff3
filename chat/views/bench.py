"""The test bench of an agent: its cases, its runs, what they came to."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agents.models import Agent
from agents.selectors import agent_owned_by
from chat import bench as cases
from chat import bench_running
from chat.bench import Summary
from chat.forms import BenchCaseForm, BenchImportForm, BenchModelForm
from chat.models import BenchResult, BenchRun
from chat.models.bench import BenchState
from config.lib.csv_answers import Cell, csv_download
from config.lib.errors import DomainError
from config.lib.form_errors import show_refusal
from config.lib.htmx import render_page
from config.lib.http import SignedInRequest
from config.lib.plots import Plot, Series, lined

SHOWN_IN_TIME = 40
"""Runs that the plot and the list show."""

RESULT_FIELDS = (
    *("prompt", "expected", "called", "passed", "offered", "arguments_problem", "searches"),
    *("answer", "error", "input_tokens", "output_tokens", "cost_usd", "duration_ms"),
)


@login_required
@require_http_methods(["GET", "POST"])
def bench(request: SignedInRequest, slug: str) -> HttpResponse:
    """Show the bench of one's own agent; a POST adds a case."""
    agent = agent_owned_by(request.user, slug)
    form = BenchCaseForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            cases.case_create(agent, **form.cleaned_data)
        except DomainError as error:
            show_refusal(form, error)
        else:
            return redirect("bench:bench", slug)
    return _page(request, agent, form=form)


@login_required
@require_POST
def cases_import(request: SignedInRequest, slug: str) -> HttpResponse:
    """Add the cases that were pasted, all or none."""
    agent = agent_owned_by(request.user, slug)
    form = BenchImportForm(request.POST)
    if form.is_valid():
        try:
            made = cases.cases_import(agent, cases.lines_of(form.cleaned_data["lines"]))
        except DomainError as error:
            show_refusal(form, error, {"prompt": "lines", "tool": "lines"})
        else:
            messages.success(request, f"{len(made)} added.")
            return redirect("bench:bench", slug)
    return _page(request, agent, importing=form)


@login_required
@require_http_methods(["GET", "POST"])
def case_edit(request: SignedInRequest, slug: str, bench_case_id: UUID) -> HttpResponse:
    """Change a case."""
    case = cases.case_owned_by(request.user, slug, bench_case_id)
    initial = {"prompt": case.prompt, "tool": case.tool or cases.NONE}
    form = BenchCaseForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            cases.case_update(case, **form.cleaned_data)
        except DomainError as error:
            show_refusal(form, error)
        else:
            return redirect("bench:bench", slug)
    context = {"agent": case.agent, "case": case, "form": form}
    status = 400 if form.errors else 200
    return render(request, "chat/bench/case.html", context, status=status)


@login_required
@require_POST
def case_delete(request: SignedInRequest, slug: str, bench_case_id: UUID) -> HttpResponse:
    """Remove a case; what earlier runs made of it stays."""
    cases.case_owned_by(request.user, slug, bench_case_id).delete()
    return redirect("bench:bench", slug)


@login_required
@require_POST
def bench_start(request: SignedInRequest, slug: str) -> HttpResponse:
    """Run all cases with the agent's model, or another one."""
    agent = agent_owned_by(request.user, slug)
    form = BenchModelForm(request.POST)
    if form.is_valid():
        try:
            run = bench_running.bench_request(agent, by=request.user, **form.cleaned_data)
        except DomainError as error:
            show_refusal(form, error)
        else:
            return redirect("bench:run", slug, run.pk)
    return _page(request, agent, starting=form)


@login_required
@require_safe
def run_detail(request: SignedInRequest, slug: str, bench_run_id: UUID) -> HttpResponse:
    """Show what came of a run, case by case, and what came out otherwise before."""
    run = cases.run_owned_by(request.user, slug, bench_run_id)
    results = list(cases.results_of(run))
    before = cases.run_before(run)
    earlier = list(cases.results_of(before)) if before else []
    flips = cases.flips_between(results, earlier)
    context = {
        "agent": run.agent,
        "run": run,
        "summary": cases.summaries_of([run])[run.pk],
        "before": before,
        "rows": [(result, flips.get(result.place)) for result in results],
        "mended": sum(flips.values()),
        "broken": sum(not passes for passes in flips.values()),
    }
    return render_page(request, "chat/bench/run.html", context, fragment="chat/bench/_run.html")


@login_required
@require_POST
def run_stop(request: SignedInRequest, slug: str, bench_run_id: UUID) -> HttpResponse:
    """Stop a run; what was tried stays."""
    bench_running.bench_stop(cases.run_owned_by(request.user, slug, bench_run_id))
    return redirect("bench:run", slug, bench_run_id)


@login_required
@require_safe
def run_results(request: SignedInRequest, slug: str, bench_run_id: UUID) -> StreamingHttpResponse:
    """Download one line a case."""
    run = cases.run_owned_by(request.user, slug, bench_run_id)
    return csv_download(request, f"bench-{run.pk}", RESULT_FIELDS, _lines(run))


def _page(
    request: SignedInRequest,
    agent: Agent,
    *,
    form: BenchCaseForm | None = None,
    importing: BenchImportForm | None = None,
    starting: BenchModelForm | None = None,
) -> HttpResponse:
    runs = list(cases.runs_of(agent)[:SHOWN_IN_TIME])
    summaries = cases.summaries_of(runs)
    done = [run for run in reversed(runs) if run.state == BenchState.DONE]
    model = agent.model or settings.OUTFITTER_MODEL
    forms = [sent for sent in (form, importing, starting) if sent and sent.errors]
    context: dict[str, Any] = {
        "agent": agent,
        "cases": cases.cases_of(agent),
        "most": cases.MOST_CASES,
        "form": form or BenchCaseForm(),
        "importing": importing or BenchImportForm(),
        "starting": starting or BenchModelForm(initial={"model": model}),
        "runs": [(run, summaries[run.pk]) for run in runs],
        "open": next((run for run in runs if run.is_open), None),
        "plot": _plot(done, summaries) if len(done) > 1 else None,
    }
    return render(request, "chat/bench/list.html", context, status=400 if forms else 200)


def _plot(done: Sequence[BenchRun], summaries: dict[UUID, Summary]) -> Plot:
    labels = [f"{run.created_at:%-d %b, %H:%M}" for run in done]
    found = [summaries[run.pk] for run in done]
    series = [
        Series(name="Passed", css="plot-1", values=[summary.pass_rate for summary in found]),
        Series(name="Offered", css="plot-2", values=[summary.offered_rate for summary in found]),
    ]
    return lined("bench", "Over time", labels, series, lambda value: f"{value:.0%}", most=1)


def _lines(run: BenchRun) -> Iterator[tuple[Cell, ...]]:
    for row in cases.results_of(run).iterator():
        yield _line(row)


def _line(row: BenchResult) -> tuple[Cell, ...]:
    tried = row.finished_at is not None
    return (
        row.prompt,
        row.expected or cases.NONE,
        (row.called or cases.NONE) if tried else "",
        int(row.passed) if tried else None,
        None if row.offered is None else int(row.offered),
        row.problem,
        row.searches,
        row.answer,
        (row.error or {}).get("message", ""),
        row.input_tokens,
        row.output_tokens,
        None if row.cost is None else float(row.cost),
        row.duration_ms,
    )
