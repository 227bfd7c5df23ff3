"""What pages of use have in common: plots, tables and the CSV of each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpResponse

from config.lib.csv_answers import Cell, csv_answer
from config.lib.errors import NotFound
from config.lib.plots import Plot, Series, counted, lasting, lined, stacked
from registry.usage import selectors
from registry.usage.periods import NAMES, Period
from registry.usage.selectors import Scope
from registry.usage.summary import ErrorCount, Summary, ToolSummary

TOOLS_RANKED = 10

CALLS_HEADER = (
    *("from", "calls", "succeeded", "failed", "refused"),
    *("p50_ms", "p95_ms", "p99_ms", "cost_usd"),
)
TOOLS_HEADER = ("tool", "title", *CALLS_HEADER[1:], "success_rate", "last_call")


@dataclass(frozen=True, kw_only=True)
class Table:
    """One table that can be downloaded."""

    header: Sequence[str]
    rows: Iterable[Sequence[Cell]]


def bucket_label(period: Period, start: datetime) -> str:
    """Return the words for a bucket: an hour or a day, UTC."""
    return f"{start:%H:%M}" if period.grain == "hour" else f"{start.day} {start:%b}"


def call_plots(period: Period, parts: Sequence[tuple[datetime, Summary]]) -> list[Plot]:
    """Return the plots of calls and of latency."""
    labels = [bucket_label(period, start) for start, _ in parts]
    sums = [part for _, part in parts]
    return [
        stacked(
            "calls",
            "Calls",
            labels,
            [
                Series(name="Succeeded", css="plot-ok", values=[s.succeeded for s in sums]),
                Series(name="Failed", css="plot-bad", values=[s.failed for s in sums]),
                Series(name="Refused", css="plot-held", values=[s.refused for s in sums]),
            ],
            counted,
        ),
        lined(
            "latency",
            "Latency",
            labels,
            [
                Series(name="p50", css="plot-1", values=[s.p50 for s in sums]),
                Series(name="p95", css="plot-2", values=[s.p95 for s in sums]),
                Series(name="p99", css="plot-3", values=[s.p99 for s in sums]),
            ],
            lasting,
        ),
    ]


def rankings(scope: Scope, period: Period) -> list[tuple[str, str, list[ToolSummary]]]:
    """Return the name of the download, title and tools of the three rankings."""
    return [
        (part, title, selectors.ranked(scope, period, order, TOOLS_RANKED))
        for part, order, title in (
            ("most", selectors.MOST, "Most used"),
            ("failing", selectors.FAILING, "Most failing"),
            ("slowest", selectors.SLOWEST, "Slowest"),
        )
    ]


def calls_table(parts: Sequence[tuple[datetime, Summary]]) -> Table:
    """Return the calls over time."""
    return Table(
        header=CALLS_HEADER,
        rows=[(start.isoformat(), *_measures(sums)) for start, sums in parts],
    )


def tools_table(tools: Iterable[ToolSummary]) -> Table:
    """Return what was called of each tool."""
    rows = [
        (
            tool.name,
            tool.title,
            *_measures(tool.sums),
            None if tool.sums.success_rate is None else round(tool.sums.success_rate, 4),
            tool.sums.last_at.isoformat() if tool.sums.last_at else None,
        )
        for tool in tools
    ]
    return Table(header=TOOLS_HEADER, rows=rows)


def errors_table(errors: Iterable[ErrorCount]) -> Table:
    """Return how often each error came."""
    rows = [(error.code, error.calls, error.last_at.isoformat()) for error in errors]
    return Table(header=("error", "calls", "last"), rows=rows)


def downloaded(name: str, period: Period, tables: dict[str, Table], part: str) -> HttpResponse:
    """Return one of the tables as a CSV file; raise NotFound for an unknown one."""
    table = tables.get(part)
    if table is None:
        known = ", ".join(tables)
        raise NotFound(f"There is no table “{part[:40]}” here.", f"Ask for one of: {known}.")
    return csv_answer(f"{name}-{part}-{period.name}", table.header, table.rows)


def period_choices(period: Period) -> list[tuple[str, bool]]:
    """Return the names of the periods, each with whether it is the present one."""
    return [(name, name == period.name) for name in NAMES]


def _measures(sums: Summary) -> tuple[Cell, ...]:
    cost = None if sums.cost is None else float(sums.cost)
    counts = (sums.calls, sums.succeeded, sums.failed, sums.refused)
    return (*counts, sums.p50, sums.p95, sums.p99, cost)
