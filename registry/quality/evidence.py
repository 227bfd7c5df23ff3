"""What was seen of tools: the calls of others than their makers, and how they fared."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone

from registry.models import Tool
from registry.models.health import HealthState
from registry.usage.histogram import BUCKETS, empty

CALLS_WINDOW = timedelta(days=90)
HEALTH_WINDOW = timedelta(days=30)

CALLS_OF_ONE = 20
"""Calls of one person that count; more of them say no more."""

PERSON_DAYS = 2_000
"""Days of persons that are read of a tool, the latest first; more would not change the score."""

CHANGES = 500
"""Changes of health that are read of a tool, the latest first."""

_DOWN = frozenset(HealthState) - {HealthState.HEALTHY, HealthState.UNKNOWN}


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """A time in which a tool was in one state."""

    state: HealthState
    since: datetime
    until: datetime
    error_code: str = ""

    @property
    def days(self) -> float:
        """Return how long it lasted."""
        return (self.until - self.since) / timedelta(days=1)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What was seen of a tool. `calls` and `succeeded` weigh each person's calls alike.

    `calls` are those that say something of the tool: they succeeded, or failed by its own fault.
    `durations` is a weighted histogram. `health` tells the last 30 days, oldest first.
    """

    people: int = 0
    calls: float = 0.0
    succeeded: float = 0.0
    durations: Sequence[float] = field(default_factory=empty)
    health: Sequence[Stretch] = ()

    @property
    def says_something(self) -> bool:
        """Tell whether anything was seen that grows old."""
        return bool(self.calls or self.up_days or self.down_days)

    @property
    def up_days(self) -> float:
        """Return the days in which it was known to be healthy."""
        return sum(part.days for part in self.health if part.state == HealthState.HEALTHY)

    @property
    def down_days(self) -> float:
        """Return the days in which it was known not to be."""
        return sum(part.days for part in self.health if part.state in _DOWN)

    @property
    def uptime(self) -> float | None:
        """Return the share of the known days in which it was healthy."""
        known = self.up_days + self.down_days
        return self.up_days / known if known else None


def evidence_of(tools: Iterable[Tool]) -> dict[UUID, Evidence]:
    """Return what was seen of each tool, in two queries. Reads `tool.package`."""
    tools = list(tools)
    people = _people([tool.pk for tool in tools])
    health = _health([tool.pk for tool in tools])
    return {
        tool.pk: _weighed(people[tool.pk], _makers(tool), health.get(tool.pk, ())) for tool in tools
    }


def health_of(tool: Tool) -> Sequence[Stretch]:
    """Return how a tool fared in the last 30 days, oldest first."""
    return _health([tool.pk]).get(tool.pk, ())


def _makers(tool: Tool) -> frozenset[int | None]:
    """Return whose calls of a tool do not count: those who made it or brought it in."""
    package = tool.package
    return frozenset({None, tool.owner_id, package.added_by_id if package else None})


_Person = dict[str, Any]


def _weighed(
    people: dict[int, _Person], makers: frozenset[int | None], health: Sequence[Stretch]
) -> Evidence:
    calls = succeeded = 0.0
    durations = [0.0] * BUCKETS
    others = {user: seen for user, seen in people.items() if user not in makers and seen["counts"]}
    for seen in others.values():
        weight = min(1.0, CALLS_OF_ONE / seen["counts"])
        calls += weight * seen["counts"]
        succeeded += weight * seen["succeeded"]
        for bucket, count in enumerate(seen["durations"]):
            durations[bucket] += weight * count
    return Evidence(
        people=len(others), calls=calls, succeeded=succeeded, durations=durations, health=health
    )


def _people(tool_ids: Sequence[UUID]) -> dict[UUID, dict[int, _Person]]:
    """Return tool → user → what they saw; the last days of many persons, not all of them."""
    sql = """
        SELECT tool.id, seen.* FROM unnest(%(tools)s::uuid[]) AS tool(id), LATERAL (
            SELECT user_id, succeeded, faults, durations FROM registry_personusageday
            WHERE tool_id = tool.id AND day >= %(since)s ORDER BY day DESC LIMIT %(limit)s
        ) AS seen"""
    since = (timezone.now() - CALLS_WINDOW).date()
    found: dict[UUID, dict[int, _Person]] = defaultdict(dict)
    with connection.cursor() as cursor:
        cursor.execute(sql, {"tools": list(tool_ids), "since": since, "limit": PERSON_DAYS})
        for tool_id, user_id, succeeded, faults, durations in cursor.fetchall():
            nothing = {"counts": 0, "succeeded": 0, "durations": empty()}
            seen = found[tool_id].setdefault(user_id, nothing)
            seen["counts"] += succeeded + faults
            seen["succeeded"] += succeeded
            seen["durations"] = [a + b for a, b in zip(seen["durations"], durations, strict=True)]
    return found


def _health(tool_ids: Sequence[UUID]) -> dict[UUID, list[Stretch]]:
    sql = """
        SELECT tool.id, seen.* FROM unnest(%(tools)s::uuid[]) AS tool(id), LATERAL (
            SELECT at, state, error_code FROM registry_healthchange
            WHERE tool_id = tool.id ORDER BY at DESC, id DESC LIMIT %(limit)s
        ) AS seen"""
    now = timezone.now()
    since = now - HEALTH_WINDOW
    found: dict[UUID, list[Stretch]] = defaultdict(list)
    ends: dict[UUID, datetime] = {}
    with connection.cursor() as cursor:
        cursor.execute(sql, {"tools": list(tool_ids), "limit": CHANGES})
        for tool_id, at, state, error_code in cursor.fetchall():  # the latest first
            end = ends.get(tool_id, now)
            ends[tool_id] = at
            if end > since:
                stretch = Stretch(
                    state=HealthState(state),
                    since=max(at, since),
                    until=end,
                    error_code=error_code,
                )
                found[tool_id].append(stretch)
    return {tool_id: stretches[::-1] for tool_id, stretches in found.items()}
