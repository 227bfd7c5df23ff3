"""Calls: the list, its export and the page of one."""

from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from config.lib.http import SignedInRequest
from config.lib.streaming import download
from config.lib.types import JsonObject
from registry.audit.calls import (
    DECISIONS,
    CallFilters,
    agent_names,
    calls_listed,
    for_reader,
    sees_all_calls,
    sees_content,
)
from registry.audit.export import CALL_COLUMNS, FORMATS, calls_told, require_format, written
from registry.audit.paging import all_of, page_of
from registry.media import Media, media_in, without_media
from registry.models import Invocation
from registry.models.invocation import Caller, Outcome
from registry.models.tool import ToolKind
from registry.selectors import invocation_visible_to, invocations_inside
from registry.views.display import pretty


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One call as the page shows it: what it was given and gave, as text, pictures and sounds."""

    call: Invocation
    code: str
    arguments: str
    printed: str
    output: str
    media: list[Media]


@login_required
@require_GET
def invocation_list(request: SignedInRequest) -> HttpResponse:
    """Show the newest calls that pass the filters: one's own, and all of them to governance."""
    filters = CallFilters.of(request.GET.dict())
    calls = calls_listed(request.user, filters).defer("arguments", "output", "error")
    page = page_of(calls, "created_at", request.GET.get("cursor", ""))
    agents = agent_names(call.agent_id for call in page.rows)
    context = {
        "filters": filters,
        "query": filters.query(),
        "rows": [
            (call, agents.get(call.agent_id, "") if call.agent_id else "") for call in page.rows
        ],
        "older": page.older,
        "is_first": not request.GET.get("cursor"),
        "sees_all": sees_all_calls(request.user),
        "callers": Caller.choices,
        "outcomes": Outcome.choices,
        "decisions": DECISIONS,
    }
    return render(request, "registry/invocation_list.html", context)


@login_required
@require_GET
def invocation_export(request: SignedInRequest) -> StreamingHttpResponse:
    """Send all calls that pass the filters as CSV or JSON."""
    form = require_format(request.GET.get("format", "csv"))
    calls = calls_listed(request.user, CallFilters.of(request.GET.dict())).defer("error")
    parts = written(all_of(calls, "created_at"), calls_told(request.user), CALL_COLUMNS, form)
    name = f"calls-{timezone.now():%Y-%m-%d}.{form}"
    return download(request, parts, filename=name, media_type=FORMATS[form])


@login_required
@require_GET
def invocation_detail(request: SignedInRequest, invocation_id: UUID) -> HttpResponse:
    """Show a call: what it was given, how it ended and, of a program, every call it made."""
    invocation = invocation_visible_to(request.user, invocation_id)
    inside = invocations_inside(invocation)
    context = {
        "may_read": sees_content(request.user, invocation),
        "shown": shown(for_reader(request.user, invocation)),
        "inside": [shown(for_reader(request.user, call)) for call in inside],
        "is_program": invocation.tool.kind == ToolKind.CODE,
    }
    return render(request, "registry/invocation_detail.html", context)


def shown(call: Invocation) -> Shown:
    """Return a call in texts; a program and what it printed stand as they are."""
    is_program = call.tool.kind == ToolKind.CODE
    told: JsonObject = call.error.get("extra", {}) if call.error else _object(call.output)
    answer = told.get("result", call.output) if is_program else call.output
    code, printed = _object(call.arguments).get("code"), told.get("printed")
    return Shown(
        call=call,
        code=code if is_program and isinstance(code, str) else "",
        arguments=pretty(call.arguments),
        printed=printed if is_program and isinstance(printed, str) else "",
        output="" if call.error else pretty(without_media(answer)),
        media=[] if call.error else media_in(answer),
    )


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}
