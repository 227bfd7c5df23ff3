"""Read the sums of use, and with them the calls that still wait: what is told is of now.

Every function is one statement, so that a call that is being summed up meanwhile is seen in one
of the two places and not in both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import connection

from registry.models import Tool
from registry.usage import sums
from registry.usage.histogram import BUCKETS
from registry.usage.periods import Period
from registry.usage.summary import ErrorCount, Summary, ToolSummary

ENOUGH = 5
"""Calls from which a tool is ranked among the slowest and the most failing."""

MOST = "calls"
FAILING = "failing"
SLOWEST = "slowest"

_RANKS = {
    MOST: "sum(calls) DESC",
    FAILING: "sum(failed)::float / nullif(sum(succeeded + failed), 0) DESC",
    SLOWEST: "sum(total_ms)::float / nullif(sum(succeeded + failed), 0) DESC",
}
_HAVING = {
    MOST: "true",
    FAILING: f"sum(failed) > 0 AND sum(succeeded + failed) >= {ENOUGH}",
    SLOWEST: f"sum(succeeded + failed) >= {ENOUGH}",
}


@dataclass(frozen=True, kw_only=True)
class Scope:
    """Whose calls are meant: all that fit what is named; nothing named means the whole site.

    `agent_ids` may be empty: no calls at all. `user_id` (a person's own calls) goes with `tool_id`.
    """

    tool_id: UUID | None = None
    agent_ids: Sequence[UUID] | None = None
    user_id: int | None = None

    @property
    def where(self) -> str:
        """Return the SQL condition; the names of the columns are the same everywhere."""
        parts = [
            part
            for part, asked in (
                ("tool_id = %(tool)s", self.tool_id),
                ("agent_id = ANY(%(agents)s)", self.agent_ids is not None),
                ("user_id = %(user)s", self.user_id),
            )
            if asked
        ]
        return " AND ".join(parts) or "true"

    @property
    def is_site(self) -> bool:
        """Tell whether all calls are meant."""
        return self.tool_id is None and self.agent_ids is None and self.user_id is None

    def values(self) -> dict[str, Any]:
        """Return the parameters of `where`."""
        agents = None if self.agent_ids is None else list(self.agent_ids)
        return {"tool": self.tool_id, "agents": agents, "user": self.user_id}


SITE = Scope()


def total(scope: Scope, period: Period) -> Summary:
    """Return all calls of a period in one sum."""
    found = _grouped(scope, period, "true")
    return found.get(True, Summary())


def count(scope: Scope, period: Period) -> int:
    """Return how many calls there were in a period."""
    table = _table(scope, period, tools=False)
    rows = _rows(table, scope, ("bucket",), measures=("calls",))
    sql = f"SELECT coalesce(sum(calls), 0)::bigint FROM ({rows}) AS told"  # noqa: S608
    return int(_asked(sql, scope, period)[0][0])


def series(scope: Scope, period: Period) -> list[tuple[datetime, Summary]]:
    """Return the sum of each bucket of a period, oldest first; empty ones included."""
    found = {_aware(start): sums for start, sums in _grouped(scope, period, "bucket").items()}
    return [(start, found.get(start, Summary())) for start in period.starts]


def by_tool(scope: Scope, period: Period) -> list[ToolSummary]:
    """Return what each tool was called, most first; not for the whole site (see `ranked`)."""
    found = _grouped(scope, period, "tool_id")
    return _named(sorted(found.items(), key=lambda item: (-item[1].calls, str(item[0]))))


def ranked(scope: Scope, period: Period, order: str, limit: int = 10) -> list[ToolSummary]:
    """Return the first tools by `MOST`, `FAILING` or `SLOWEST`."""
    measures = ("calls", "succeeded", "failed", "total_ms")
    table = _table(scope, period, tools=True)
    sql = f"""
        WITH rows AS ({_rows(table, scope, ("tool_id",), measures=measures)})
        SELECT tool_id FROM rows GROUP BY tool_id HAVING {_HAVING[order]}
        ORDER BY {_RANKS[order]}, tool_id LIMIT %(limit)s"""  # noqa: S608 - own words only
    first = [row[0] for row in _asked(sql, scope, period, limit=limit)]
    if not first:
        return []
    found = _grouped(scope, period, "tool_id", only=first)
    return _named([(tool_id, found[tool_id]) for tool_id in first if tool_id in found])


def errors(scope: Scope, period: Period, limit: int = 20) -> list[ErrorCount]:
    """Return the errors that calls ended with, most frequent first; not for one person's calls."""
    stored = "tool_id IS NULL" if scope.is_site else f"tool_id IS NOT NULL AND {scope.where}"
    sql = f"""
        SELECT code, sum(calls)::int, max(last_at) FROM (
            SELECT code, calls, last_at FROM registry_errorusage
            WHERE {stored} AND hour >= %(since)s AND hour < %(until)s
            UNION ALL
            SELECT error_code, 1, created_at FROM registry_usagepending
            WHERE error_code <> '' AND {scope.where}
                AND created_at >= %(since)s AND created_at < %(until)s
        ) AS told GROUP BY code ORDER BY 2 DESC, code LIMIT %(limit)s"""  # noqa: S608
    rows = _asked(sql, scope, period, limit=limit)
    return [ErrorCount(code=code, calls=calls, last_at=last) for code, calls, last in rows]


def _grouped(
    scope: Scope, period: Period, group: str, only: Sequence[UUID] | None = None
) -> dict[Any, Summary]:
    """Return group → sum, with the histogram; `group` is `true`, `bucket` or `tool_id`."""
    table = _table(scope, period, tools=group == "tool_id")
    keys = ("bucket", "tool_id") if group == "tool_id" else ("bucket",)
    rows = _rows(table, scope, keys, only=only is not None)
    counts = ", ".join(f"sum({count})::int" for count in sums.COUNTS)
    sql = f"""
        WITH rows AS ({rows}),
        spread AS (
            SELECT {group} AS part, place, sum(many)::int AS many
            FROM rows, unnest(durations) WITH ORDINALITY AS bar(many, place)
            WHERE many > 0 GROUP BY 1, 2
        ),
        bars AS (
            SELECT part, array_agg(place::int) AS places, array_agg(many) AS manies
            FROM spread GROUP BY part
        ),
        told AS (
            SELECT {group} AS part, {counts}, sum(total_ms)::bigint, sum(cost), max(last_at)
            FROM rows GROUP BY 1
        )
        SELECT told.*, places, manies FROM told LEFT JOIN bars USING (part)"""  # noqa: S608
    return {row[0]: _summary(row) for row in _asked(sql, scope, period, only=only)}


def _summary(row: Sequence[Any]) -> Summary:
    counts = dict(zip(sums.COUNTS, row[1:6], strict=True))
    durations = [0] * BUCKETS
    for place, many in zip(row[9] or (), row[10] or (), strict=True):
        durations[place - 1] = many
    return Summary(**counts, total_ms=row[6], cost=row[7], last_at=row[8], durations=durations)


def _table(scope: Scope, period: Period, *, tools: bool) -> str:
    if scope.user_id is not None:
        return "invocation" if period.grain == "hour" else "personusageday"
    if scope.is_site and not tools:
        return "siteusage"
    return "toolusage" if period.grain == "hour" else "toolusageday"


def _rows(
    table: str,
    scope: Scope,
    keys: Sequence[str],
    *,
    measures: Sequence[str] = sums.MEASURES,
    only: bool = False,
) -> str:
    """Return the query of the sums and of the calls that wait, each with `keys` and measures."""
    where = f"{scope.where} AND tool_id = ANY(%(only)s)" if only else scope.where
    source = "registry_usagepending"
    if table == "invocation":  # a person's own calls of a tool in a day: they are counted as calls
        source = f"({sums.recorded(f'call.created_at >= %(since)s AND {where}')}) AS made"
    names = ", ".join((*keys, *measures))
    unsummed = f"""
        SELECT {names} FROM (
            SELECT {_columns(keys, "created_at")}, {sums.measured()} FROM (
                SELECT *, {sums.PLACE} FROM {source}
                WHERE {where} AND created_at >= %(since)s AND created_at < %(until)s
            ) AS placed
            GROUP BY {", ".join(str(place) for place, _ in enumerate(keys, 1))}
        ) AS unsummed"""  # noqa: S608 - own words only
    if table == "invocation":
        return unsummed
    when = sums.KEYS[table][0]
    first, last = ("since", "until") if when == "hour" else ("first", "last")
    return f"""
        SELECT {_columns(keys, when)}, {", ".join(measures)} FROM registry_{table}
        WHERE {where} AND {when} >= %({first})s AND {when} < %({last})s
        UNION ALL {unsummed}"""  # noqa: S608


def _columns(keys: Sequence[str], when: str) -> str:
    bucket = (
        "day::timestamp AT TIME ZONE 'UTC'"
        if when == "day"
        else f"date_trunc(%(grain)s, {when}, 'UTC')"
    )
    return ", ".join(f"{bucket} AS bucket" if key == "bucket" else key for key in keys)


def _asked(sql: str, scope: Scope, period: Period, **values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(
            sql,
            {
                **scope.values(),
                **values,
                "since": period.since,
                "until": period.until,
                "first": period.since.date(),
                "last": period.until.date(),
                "grain": period.grain,
                "faults": list(sums.fault_codes()),
            },
        )
        return list(cursor.fetchall())


def _aware(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


def _named(found: Sequence[tuple[UUID, Summary]]) -> list[ToolSummary]:
    tools = Tool.objects.only("wire_name", "title", "deleted_at")
    known = tools.in_bulk([tool_id for tool_id, _ in found])
    return [
        ToolSummary(
            tool_id=tool_id,
            name=known[tool_id].wire_name,
            title=known[tool_id].title,
            gone=known[tool_id].deleted_at is not None,
            sums=summary,
        )
        for tool_id, summary in found
        if tool_id in known
    ]
