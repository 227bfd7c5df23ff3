"""Write records as CSV or JSON, batch by batch, however many there are."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Model

from config.lib.csv_answers import MEDIA_TYPE, Cell, csv_lines
from config.lib.errors import InvalidInput
from config.lib.types import JsonObject
from registry.audit.calls import agent_names, masked_by_name, sees_content
from registry.models import AuditEvent, Invocation

FORMATS: Mapping[str, str] = {
    "csv": MEDIA_TYPE,
    "json": "application/json",
}

EVENT_COLUMNS = (
    *("id", "at", "actor", "source", "operation", "model", "object_id", "object", "reason"),
    *("method", "path", "request", "before", "after"),
)
CALL_COLUMNS = (
    *("id", "at", "tool", "version", "agent", "user", "caller", "outcome", "error"),
    *("decision", "duration_ms", "cost_usd", "arguments", "output"),
)


def require_format(text: str) -> str:
    """Return the format, or raise InvalidInput."""
    if text not in FORMATS:
        raise InvalidInput(f"“{text[:20]}” is no format of an export.", "Ask for csv or json.")
    return text


def events_told(events: Sequence[AuditEvent]) -> list[JsonObject]:
    """Return events as an export tells them."""
    return [
        {
            "id": event.pk,
            "at": event.at.isoformat(),
            "actor": event.actor_name,
            "source": event.source,
            "operation": event.operation,
            "model": event.model,
            "object_id": event.object_id,
            "object": event.object_label,
            "reason": event.reason,
            "method": event.method,
            "path": event.path,
            "request": event.request_id,
            "before": masked_by_name(event.before),
            "after": masked_by_name(event.after),
        }
        for event in events
    ]


def calls_told(user: User) -> Callable[[Sequence[Invocation]], list[JsonObject]]:
    """Return what tells calls to a person: what each was given and gave only where they see it."""

    def told(calls: Sequence[Invocation]) -> list[JsonObject]:
        agents = agent_names(call.agent_id for call in calls)
        return [
            {
                "id": str(call.pk),
                "at": call.created_at.isoformat(),
                "tool": call.tool.wire_name,
                "version": call.tool_version,
                "agent": agents.get(call.agent_id, str(call.agent_id)) if call.agent_id else "",
                "user": call.user.username if call.user else "",
                "caller": call.caller,
                "outcome": call.outcome,
                "error": call.error_code,
                "decision": call.decision,
                "duration_ms": call.duration_ms,
                "cost_usd": None if call.cost is None else str(call.cost),
                **_content(user, call),
            }
            for call in calls
        ]

    return told


def written(
    batches: Iterable[list[Model]],
    told: Callable[[Any], list[JsonObject]],
    columns: Sequence[str],
    form: str,
) -> Iterator[bytes]:
    """Return the parts of a file, one a batch."""
    parts = _as_csv if form == "csv" else _as_json
    for text in parts((told(batch) for batch in batches), columns):
        yield text.encode()


def _content(user: User, call: Invocation) -> JsonObject:
    if not sees_content(user, call):
        return {"arguments": None, "output": None}
    # A file travels, so even one's own calls leave what is called a secret behind.
    return {"arguments": masked_by_name(call.arguments), "output": masked_by_name(call.output)}


def _as_csv(batches: Iterable[list[JsonObject]], columns: Sequence[str]) -> Iterator[str]:
    yield csv_lines([columns])
    for batch in batches:
        yield csv_lines([_cell(row[column]) for column in columns] for row in batch)


def _cell(value: Any) -> Cell:
    """Return what stands in a cell: a text or number as it is, all else as JSON."""
    if value is None or (isinstance(value, str | int | float) and not isinstance(value, bool)):
        return value
    return json.dumps(value, ensure_ascii=False)


def _as_json(batches: Iterable[list[JsonObject]], _: Sequence[str]) -> Iterator[str]:
    yield "["
    before = "\n"
    for batch in batches:
        yield before + ",\n".join(json.dumps(row, ensure_ascii=False) for row in batch)
        before = ",\n"
    yield "\n]\n"
