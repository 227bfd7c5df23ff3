"""Pages of “When it runs”: what starts a sequence by itself, and its schedules."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from config.lib.errors import DomainError, InvalidInput
from config.lib.form_errors import show_refusal
from config.lib.htmx import render_page, wants_fragment
from config.lib.http import SignedInRequest
from config.lib.types import JsonObject
from registry.errors import InvalidArguments
from registry.models import Tool
from registry.schema_forms import arguments_from_form
from sequences.forms.triggers import ScheduleForm
from sequences.mapping import as_text
from sequences.models import Schedule
from sequences.selectors import sequence_visible_to
from sequences.triggers import lines, schedules, selectors
from sequences.triggers.cron import CronError, checked_cron, in_words, next_times
from sequences.triggers.schedules import SchedulePlan
from sequences.views.display import run_fields


@login_required
@require_GET
def trigger_list(request: SignedInRequest, tool_id: UUID) -> HttpResponse:
    """Show a person's schedules and webhooks of a sequence."""
    return triggers_page(request, sequence_visible_to(request.user, tool_id))


def triggers_page(request: SignedInRequest, tool: Tool) -> HttpResponse:
    """Show the page, or its part that changes."""
    context = {
        "tool": tool,
        "schedules": lines.schedule_lines(request.user, tool),
        "webhooks": lines.webhook_lines(request.user, tool),
    }
    return render_page(
        request,
        "sequences/triggers/list.html",
        context,
        fragment="sequences/triggers/_list.html",
    )


def changed(
    request: SignedInRequest, tool: Tool, words: str, *, failed: bool = False
) -> HttpResponse:
    """Answer after a button of the page: the part that changed, or the page."""
    (messages.error if failed else messages.success)(request, words)
    if wants_fragment(request):
        return triggers_page(request, tool)
    return redirect("sequences:trigger_list", tool.pk)


@login_required
@require_GET
def schedule_times(request: SignedInRequest) -> HttpResponse:
    """Say what the fields of a schedule mean, in words and as its next times."""
    form = ScheduleForm(request.GET)
    context: dict[str, Any] = {}
    if form.is_valid():
        zone = form.cleaned_data["timezone"]
        try:
            cron = checked_cron(form.cron_text)
            context = {"words": in_words(cron), "times": _times(cron, zone), "zone": zone}
        except CronError as error:
            context = {"problem": str(error)}
    return render(request, "sequences/triggers/_times.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def schedule_create(request: SignedInRequest, tool_id: UUID) -> HttpResponse:
    """Show the form of a new schedule, and make it."""
    tool = sequence_visible_to(request.user, tool_id)
    form = ScheduleForm(request.POST if request.method == "POST" else None)
    return _form_page(request, tool, form, None)


@login_required
@require_http_methods(["GET", "POST"])
def schedule_edit(request: SignedInRequest, schedule_id: UUID) -> HttpResponse:
    """Show the form of a schedule, and change it."""
    schedule = selectors.schedule_of(request.user, schedule_id)
    data = request.POST if request.method == "POST" else None
    return _form_page(request, schedule.tool, ScheduleForm(data, schedule=schedule), schedule)


@login_required
@require_POST
def schedule_switch(request: SignedInRequest, schedule_id: UUID) -> HttpResponse:
    """Switch a schedule on or off."""
    schedule = selectors.schedule_of(request.user, schedule_id)
    is_on = request.POST.get("enabled") == "true"
    try:
        schedules.schedule_switch(schedule, enabled=is_on)
    except DomainError as error:
        return changed(request, schedule.tool, f"{error.message} {error.hint}", failed=True)
    return changed(request, schedule.tool, f"The schedule is {'on' if is_on else 'off'}.")


@login_required
@require_POST
def schedule_delete(request: SignedInRequest, schedule_id: UUID) -> HttpResponse:
    """Delete a schedule."""
    schedule = selectors.schedule_of(request.user, schedule_id)
    schedules.schedule_delete(schedule)
    return changed(request, schedule.tool, "The schedule is deleted. Its runs are kept.")


def _form_page(
    request: SignedInRequest, tool: Tool, form: ScheduleForm, schedule: Schedule | None
) -> HttpResponse:
    error: DomainError | None = None
    if form.is_valid():
        try:
            _save(request, tool, form, schedule)
            messages.success(request, "The schedule is saved.")
            return redirect("sequences:trigger_list", tool.pk)
        except DomainError as problem:
            error = problem
            show_refusal(form, problem)
    sent = request.POST.dict() if request.method == "POST" else _texts(schedule)
    context = {
        "tool": tool,
        "form": form,
        "schedule": schedule,
        "fields": run_fields(tool.input_schema, sent, _of_input(error)),
    }
    status = 422 if form.errors or error else 200
    return render(request, "sequences/triggers/schedule.html", context, status=status)


def _save(
    request: SignedInRequest, tool: Tool, form: ScheduleForm, schedule: Schedule | None
) -> None:
    try:
        given = arguments_from_form(tool.input_schema, request.POST.dict())
    except InvalidArguments as error:
        raise InvalidInput(
            error.message, error.hint, problems=_below_input(error.extra["problems"])
        ) from None
    plan = SchedulePlan(
        name=form.cleaned_data["name"],
        cron=form.cron_text,
        timezone=form.cleaned_data["timezone"],
        input=given,
        enabled=schedule.enabled if schedule else True,
    )
    if schedule is None:
        schedules.schedule_create(request.user, tool, plan)
    else:
        schedules.schedule_change(schedule, plan)


def _below_input(problems: list[JsonObject]) -> list[JsonObject]:
    return [
        {**problem, "path": f"$.input{problem['path'].removeprefix('$')}"} for problem in problems
    ]


def _of_input(error: DomainError | None) -> InvalidArguments | None:
    """Return what is wrong with the input alone, as the fields of the input show it."""
    problems = [
        {**problem, "path": "$" + problem["path"].removeprefix("$.input")}
        for problem in (error.extra.get("problems") or () if error else ())
        if problem["path"].startswith("$.input.")
    ]
    return InvalidArguments("", problems=problems) if problems else None


def _texts(schedule: Schedule | None) -> dict[str, str] | None:
    if schedule is None:
        return None
    return {name: as_text(value) for name, value in schedule.input.items() if value is not None}


def _times(cron: str, zone: str) -> Any:
    return next_times(cron, zone, timezone.now(), lines.TIMES_SHOWN)
