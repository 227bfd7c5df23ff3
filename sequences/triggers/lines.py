"""What the page “When it runs” shows of each schedule and webhook."""

import json
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import TypeVar

from django.contrib.auth.models import User
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, QuerySet
from django.utils import timezone

from config.lib.types import JsonObject, JsonValue
from registry.models import Tool
from registry.schema_samples import sample_of as sample_value
from sequences.models import Run, Schedule, Webhook
from sequences.triggers.cron import CronError, in_words, next_times
from sequences.triggers.selectors import schedules_of, webhooks_of

Row = TypeVar("Row", Schedule, Webhook)

RUNS_SHOWN = 5
TIMES_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class ScheduleLine:
    """A schedule in words, with its next times in its own time zone and its last runs."""

    schedule: Schedule
    words: str
    times: list[datetime]
    input: str
    runs: list[Run]


@dataclass(frozen=True, kw_only=True)
class WebhookLine:
    """A webhook with its last runs."""

    webhook: Webhook
    mapping: str
    runs: list[Run]


def schedule_lines(user: User, tool: Tool) -> list[ScheduleLine]:
    """Return a person's schedules of a sequence, in two queries."""
    rows = schedules_of(user).filter(tool=tool)
    return [
        ScheduleLine(
            schedule=row,
            words=in_words(row.cron),
            times=times_of(row.cron, row.timezone) if row.enabled else [],
            input=_json(row.input) if row.input else "",
            runs=runs,
        )
        for row, runs in _with_runs(rows, "schedule")
    ]


def webhook_lines(user: User, tool: Tool) -> list[WebhookLine]:
    """Return a person's webhooks of a sequence, in two queries."""
    rows = webhooks_of(user).filter(tool=tool)
    return [
        WebhookLine(
            webhook=row,
            mapping=_json(row.input_mapping) if row.input_mapping else "",
            runs=runs,
        )
        for row, runs in _with_runs(rows, "webhook")
    ]


def times_of(cron: str, zone: str) -> list[datetime]:
    """Return the next times of a schedule as it stands; none when it cannot be read."""
    try:
        return next_times(cron, zone, timezone.now(), TIMES_SHOWN)
    except CronError:
        return []


def sample_of(tool: Tool) -> JsonObject:
    """Return a message to try a webhook with: a value of the right type for each input."""
    properties = tool.input_schema.get("properties") or {}
    return {name: sample_value(schema) for name, schema in properties.items()}


def _with_runs(rows: QuerySet[Row], starts: str) -> list[tuple[Row, list[Run]]]:
    """Return each row with the last runs that it started, by an index of its own."""
    runs = Run.objects.filter(parent_step=None, **{starts: OuterRef("pk")})
    last = runs.order_by("-created_at", "pk").values("pk")[:RUNS_SHOWN]
    found = list(rows.annotate(last=ArraySubquery(last)))
    ids = {row.pk: vars(row)["last"] for row in found}
    known = Run.objects.in_bulk(chain.from_iterable(ids.values()))
    return [(row, [known[pk] for pk in ids[row.pk] if pk in known]) for row in found]


def _json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
