"""The audit: what was changed of what is governed, by whom and why."""

import json
from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from config.lib.http import SignedInRequest
from config.lib.streaming import download
from config.lib.types import JsonObject, JsonValue
from registry.audit.calls import masked_by_name
from registry.audit.events import MODELS, EventFilters, event_visible_to, events_listed
from registry.audit.export import EVENT_COLUMNS, FORMATS, events_told, require_format, written
from registry.audit.paging import all_of, page_of
from registry.models import AuditEvent
from registry.models.audit_event import Operation, Source

SHORTENED = 120
PEOPLE = {
    *("added_by_id", "author_id", "decided_by_id"),
    *("opened_by_id", "owner_id", "stopped_by_id", "user_id"),
}
"""Columns that hold the id of a person."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column that changed, and both of its values as text; `None` where there was none."""

    name: str
    before: str | None
    after: str | None


@login_required
@require_GET
def audit_list(request: SignedInRequest) -> HttpResponse:
    """Show the newest changes that pass the filters."""
    filters = EventFilters.of(request.GET.dict())
    page = page_of(events_listed(request.user, filters), "at", request.GET.get("cursor", ""))
    context = {
        "filters": filters,
        "query": filters.query(),
        "rows": [
            (event, MODELS.get(event.model, event.model), what_changed(event))
            for event in page.rows
        ],
        "older": page.older,
        "is_first": not request.GET.get("cursor"),
        "models": MODELS.items(),
        "operations": Operation.choices,
        "sources": Source.choices,
    }
    return render(request, "registry/audit_list.html", context)


@login_required
@require_GET
def audit_event(request: SignedInRequest, event_id: int) -> HttpResponse:
    """Show one change: each column before and after."""
    event = event_visible_to(request.user, event_id)
    context = {
        "event": event,
        "model_name": MODELS.get(event.model, event.model),
        "columns": columns_of(event),
    }
    return render(request, "registry/audit_event.html", context)


@login_required
@require_GET
def audit_export(request: SignedInRequest) -> StreamingHttpResponse:
    """Send all changes that pass the filters as CSV or JSON."""
    form = require_format(request.GET.get("format", "csv"))
    events = events_listed(request.user, EventFilters.of(request.GET.dict()))
    parts = written(all_of(events, "at"), events_told, EVENT_COLUMNS, form)
    name = f"audit-{timezone.now():%Y-%m-%d}.{form}"
    return download(request, parts, filename=name, media_type=FORMATS[form])


def columns_of(event: AuditEvent) -> list[Column]:
    """Return what changed, column by column."""
    before: JsonObject = masked_by_name(event.before)
    after: JsonObject = masked_by_name(event.after)
    people = _people_in(before, after)

    def text(name: str, values: JsonObject) -> str | None:
        if name not in values:
            return None
        value = values[name]
        return people.get(value, _text(value)) if name in PEOPLE else _text(value)

    return [
        Column(
            name=name.removesuffix("_id").replace("_", " "),
            before=text(name, before),
            after=text(name, after),
        )
        for name in dict.fromkeys([*before, *after])
    ]


def what_changed(event: AuditEvent) -> str:
    """Return in a line what a change was: of a short value both sides, else the columns' names."""
    if event.operation != Operation.UPDATE:
        return ""
    names = list(event.after)
    if len(names) == 1 and names[0] not in PEOPLE:
        (column,) = columns_of(event)
        line = f"{column.name}: {column.before} → {column.after}"
        if len(line) <= SHORTENED and "\n" not in line:
            return line
    return ", ".join(name.removesuffix("_id").replace("_", " ") for name in names)


def _people_in(before: JsonObject, after: JsonObject) -> dict[int, str]:
    """Return the names of the people whom the values refer to by their ids."""
    ids = {values[name] for values in (before, after) for name in PEOPLE & values.keys()} - {None}
    found = User.objects.filter(pk__in=ids).values_list("pk", "username") if ids else ()
    return dict(found)


def _text(value: JsonValue) -> str:
    if value in (None, ""):
        return "–"
    if isinstance(value, dict) and value.keys() == {"bytes", "sha256"}:
        return f"{value['bytes']:,} bytes, SHA-256 {value['sha256']}"
    if isinstance(value, str):
        return value
    return json.dumps(value, indent=2, ensure_ascii=False)
