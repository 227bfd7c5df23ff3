"""Parts of a run: one step with its iterations, values and files as downloads, its events."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_safe

from config.lib.event_streams import event_stream
from config.lib.http import SignedInRequest
from sequences import selectors
from sequences.artifact_files import artifact_file, json_file
from sequences.models import RunStep
from sequences.run_filters import waiting_of
from sequences.streams import page_stream
from sequences.views.timeline import MOST_ITERATIONS
from sequences.views.values import shown

LONGEST_ALONE = 100_000
"""Bytes of JSON that the page of one step shows of one value."""


@login_required
@require_GET
def step_detail(request: SignedInRequest, run_id: UUID, step_id: UUID) -> HttpResponse:
    """Show one step, or one iteration of a loop, with what it was given and what it gave."""
    run = selectors.run_of(request.user, run_id)
    step = selectors.step_of(run, step_id)
    rows = run.steps.filter(number=step.number, iteration__isnull=False).order_by("iteration")
    pages = Paginator(rows.defer("input", "output"), MOST_ITERATIONS)
    context = {
        "run": run,
        "step": step,
        "input": None if step.input is None else shown(step.input, LONGEST_ALONE),
        "output": None if step.output is None else shown(step.output, LONGEST_ALONE),
        "page": pages.get_page(request.GET.get("page")) if step.iteration is None else None,
        "loop": run.steps.filter(number=step.number, iteration=None)
        .only("pk")
        .order_by("number")  # by the primary key the database would read very many steps
        .first(),
    }
    return render(request, "sequences/step_detail.html", context)


@login_required
@require_GET
def step_input(request: SignedInRequest, run_id: UUID, step_id: UUID) -> HttpResponse:
    """Hand out what a step was given, as a file."""
    step = selectors.step_of(selectors.run_of(request.user, run_id), step_id)
    return json_file(step.input, _file_name(step, "input"))


@login_required
@require_GET
def step_output(request: SignedInRequest, run_id: UUID, step_id: UUID) -> HttpResponse:
    """Hand out what a step gave, as a file."""
    step = selectors.step_of(selectors.run_of(request.user, run_id), step_id)
    return json_file(step.output, _file_name(step, "output"))


@login_required
@require_GET
def run_input(request: SignedInRequest, run_id: UUID) -> HttpResponse:
    """Hand out what a run was given, as a file."""
    return json_file(selectors.run_of(request.user, run_id).input, "input.json")


@login_required
@require_GET
def run_output(request: SignedInRequest, run_id: UUID) -> HttpResponse:
    """Hand out what a run gave, as a file."""
    return json_file(selectors.run_of(request.user, run_id).output, "output.json")


@login_required
@require_GET
def run_artifact(request: SignedInRequest, run_id: UUID, file_id: UUID) -> HttpResponse:
    """Hand out a file that a step made."""
    run = selectors.run_of(request.user, run_id)
    return artifact_file(selectors.artifact_of(run, file_id))


@login_required
@require_safe
def run_events(request: SignedInRequest, run_id: UUID) -> StreamingHttpResponse:
    """Stream that the run has changed, until it is over; `?seen=` is what the page shows."""
    run = selectors.run_of(request.user, run_id)
    return event_stream(page_stream(run.pk, seen=request.GET.get("seen", "")))


@login_required
@require_GET
def run_badge(request: SignedInRequest) -> HttpResponse:
    """Show how many runs wait for the person, for the navigation."""
    context = {"count": waiting_of(request.user).total}
    return render(request, "sequences/_waiting_badge.html", context)


def _file_name(step: RunStep, what: str) -> str:
    iteration = "" if step.iteration is None else f"-{step.iteration + 1}"
    return f"step-{step.number}{iteration}-{what}.json"
