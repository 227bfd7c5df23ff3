"""Pages of runs: the list, one run as it goes on, and the form that starts one."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from config.lib.errors import DomainError, InvalidInput
from config.lib.htmx import render_page
from config.lib.http import SignedInRequest
from config.lib.numbers import whole_number
from config.lib.paging import CappedPaginator
from registry.context import CallContext
from registry.errors import ToolError
from registry.models import Tool
from registry.models.invocation import Caller
from registry.review.drafts import tool_as_asked
from registry.schema_forms import arguments_from_form
from sequences import runs as services
from sequences import selectors, states
from sequences.models.run import RunStatus
from sequences.run_filters import STARTED, RunFilters, runs_listed, waiting_of
from sequences.views.display import run_fields, texts_of
from sequences.views.run_page import run_context

RUNS_A_PAGE = 30


@login_required
@require_GET
def run_list(request: SignedInRequest) -> HttpResponse:
    """List a person's runs, those that pass the filters."""
    filters = RunFilters.of(request.GET.dict())
    page = CappedPaginator(runs_listed(request.user, filters), RUNS_A_PAGE).get_page(
        request.GET.get("page")
    )
    context = {
        "page": page,
        "filters": filters,
        "query": filters.query(),
        "chips": [("", "All", filters.query(status=""))]
        + [(value, label, filters.query(status=str(value))) for value, label in RunStatus.choices],
        "started_by": STARTED,
        "waiting": waiting_of(request.user),
    }
    return render(request, "sequences/run_list.html", context)


@login_required
@require_GET
def run_detail(request: SignedInRequest, run_id: UUID) -> HttpResponse:
    """Show a run step by step; the page reads the fragment again when the run has changed."""
    return render_page(
        request,
        "sequences/run_detail.html",
        run_context(request.user, run_id),
        fragment="sequences/_run.html",
    )


@login_required
@require_POST
def run_cancel(request: SignedInRequest, run_id: UUID) -> HttpResponse:
    """Cancel a run."""
    states.run_cancel(selectors.run_of(request.user, run_id))
    return redirect("sequences:run_detail", run_id)


@login_required
@require_POST
def run_retry(request: SignedInRequest, run_id: UUID) -> HttpResponse:
    """Start a finished run again, from the step and with the version that the form names."""
    run = selectors.run_of(request.user, run_id)
    asked = request.POST.get("from_step", "") or "1"
    step = whole_number(asked)
    if step is None:
        raise InvalidInput(f"“{asked[:20]}” is not the number of a step.", "Choose a step.")
    try:
        again = services.run_retry(
            run,
            context=_context(request),
            from_step=step,
            version="current" if request.POST.get("version") == "current" else "original",
        )
    except DomainError as error:
        messages.error(request, f"{error.message} {error.hint}")
        return redirect("sequences:run_detail", run_id)
    return redirect("sequences:run_detail", again.pk)


@login_required
@require_http_methods(["GET", "POST"])
def run_start(request: SignedInRequest, tool_id: UUID) -> HttpResponse:
    """Show the form made of the sequence's input schema, and start a run with what it holds.

    `?like=` names a run of one's own whose input the form holds to begin with, `?sample=` a saved
    input of one's own draft.
    """
    tool = selectors.sequence_visible_to(request.user, tool_id)
    number = request.POST.get("version") or request.GET.get("version", "")
    asked = tool_as_asked(request.user, tool, number)
    if request.method == "GET":
        return _start_page(request, asked, sent=_like(request, asked))
    try:
        arguments = arguments_from_form(asked.input_schema, request.POST.dict())
        run = services.run_start(tool, arguments, context=_context(request), version=asked.version)
    except ToolError as error:
        return _start_page(request, asked, sent=request.POST.dict(), error=error)
    return redirect("sequences:run_detail", run.pk)


def _context(request: SignedInRequest) -> CallContext:
    return CallContext(user=request.user, caller=Caller.BROWSER)


def _like(request: SignedInRequest, tool: Tool) -> dict[str, str] | None:
    """Return the input of the run or the sample that the address names, as a form holds it."""
    given = None
    try:
        run = selectors.runs_of(request.user).filter(
            pk=UUID(request.GET.get("like", "")), tool=tool
        )
        given = run.values_list("input", flat=True).first()
    except ValueError:
        if number := whole_number(request.GET.get("sample", "")):
            samples = selectors.samples_of(request.user, tool).filter(pk=number)
            given = samples.values_list("input", flat=True).first()
    return texts_of(given, tool.input_schema) if isinstance(given, dict) else None


def _start_page(
    request: SignedInRequest,
    tool: Tool,
    *,
    sent: dict[str, str] | None,
    error: ToolError | None = None,
) -> HttpResponse:
    context: dict[str, Any] = {
        "tool": tool,
        "fields": run_fields(tool.input_schema, sent, error),
        "error": error,
        "samples": selectors.samples_of(request.user, tool),
        "sample": whole_number(request.GET.get("sample", "")),
    }
    return render(request, "sequences/run_start.html", context, status=422 if error else 200)
