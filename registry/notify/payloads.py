"""What a program is told of an event: ids, names and where to read more; never values."""

from collections.abc import Callable, Mapping
from datetime import datetime
from importlib import import_module
from uuid import UUID

from django.conf import settings
from django.urls import reverse

from config.lib.types import JsonObject
from registry.models import Package, PendingEvent, Tool
from registry.models.event_types import TEST_EVENT

LONGEST_MESSAGE = 500


def event_id(event: PendingEvent) -> str:
    """Return the name of an event, by which a receiver knows what it has seen."""
    return f"evt_{event.pk.hex}"


def payload_of(event: PendingEvent, tool: Tool | None, package: Package | None) -> JsonObject:
    """Return `{type, timestamp, data}` of an event; `tool` and `package` are what it is about."""
    area = event.type.partition(".")[0]
    data = _DATA[area](event.facts, tool, package)
    return wrapped(event.type, event.at, data)


def test_payload(at: datetime, subscription_id: UUID) -> JsonObject:
    """Return the payload of an event that is sent to try a subscription."""
    data = {
        "message": "This event was sent to try your subscription.",
        "subscription": {
            "id": str(subscription_id),
            **places(
                reverse("registry:event_subscription", args=[subscription_id]),
                f"/api/v1/event-subscriptions/{subscription_id}/",
            ),
        },
    }
    return wrapped(TEST_EVENT, at, data)


def wrapped(type_: str, at: datetime, data: JsonObject) -> JsonObject:
    """Return a payload in the form that the Standard Webhooks specification recommends."""
    return {"type": type_, "timestamp": at.isoformat(), "data": data}


def places(page: str, rest: str) -> JsonObject:
    """Return `{page_url, url}`; without OUTFITTER_PUBLIC_URL they are paths."""
    base = settings.PUBLIC_URL
    return {"page_url": f"{base}{page}", "url": f"{base}{rest}"}


def _run(facts: JsonObject, tool: Tool | None, package: Package | None) -> JsonObject:
    run = facts["run"]
    return {
        "run": {
            "id": run,
            "status": facts["status"],
            "started_by": facts["caller"],
            "created_at": facts["created_at"],
            "started_at": facts["started_at"],
            "finished_at": facts["finished_at"],
            **places(reverse("sequences:run_detail", args=[run]), f"/api/v1/runs/{run}/"),
        },
        "sequence": _tool_named(tool),
        "agent": _agent(facts["agent"]),
        "error": _error(facts["error_code"], facts["error_message"]),
    }


def _review(facts: JsonObject, tool: Tool | None, package: Package | None) -> JsonObject:
    proposal = facts["proposal"]
    page = (
        reverse("registry:package_detail", args=[package.pk])
        if package
        else reverse("registry:tool_detail", args=[tool.pk])
        if tool
        else "/"
    )
    return {
        "review": {
            "id": proposal,
            "state": facts["state"],
            "cause": facts["cause"],
            "opened_at": facts["opened_at"],
            "decided_at": facts["decided_at"],
            **places(page, f"/api/v1/proposals/{proposal}/"),
        },
        "package": {"id": str(package.pk), "name": package.name} if package else None,
        "tool": _tool_named(tool),
    }


def _tool(facts: JsonObject, tool: Tool | None, package: Package | None) -> JsonObject:
    return {
        "tool": _tool_named(tool),
        "state": facts["state"],
        "error": _error(facts["error_code"], None),
    }


_DATA: Mapping[str, Callable[[JsonObject, Tool | None, Package | None], JsonObject]] = {
    "run": _run,
    "review": _review,
    "tool": _tool,
}
"""The first word of a type → what makes its data."""


def _tool_named(tool: Tool | None) -> JsonObject | None:
    if tool is None:
        return None
    return {
        "id": str(tool.pk),
        "name": tool.wire_name,
        "title": tool.title,
        **places(
            reverse("registry:tool_detail", args=[tool.pk]),
            reverse("tool-detail", args=[tool.pk]),
        ),
    }


def _agent(agent_id: str | None) -> JsonObject | None:
    if agent_id is None:
        return None
    names = import_module(settings.AGENT_NAMES).names_of([UUID(agent_id)])
    return {"id": agent_id, "name": names.get(UUID(agent_id), "")}


def _error(code: str | None, message: str | None) -> JsonObject | None:
    if not code:
        return None
    return {"code": code, "message": (message or "")[:LONGEST_MESSAGE]}
