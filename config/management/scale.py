"""Fill a database with as much as a large company has, to see whether every page stays quick.

The rows are made by PostgreSQL itself, in steps, each one transaction. All are named `scale-…` and
their ids are digests of what they are and their number, so one row finds another by arithmetic.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from config.lib.sealing import seal
from config.management.bulk import much_memory, without_indexes
from registry.usage import sums

CHUNK = 200_000

STATEMENTS = Path(__file__).with_name("scale.sql")

PEOPLE, AGENTS, TOOLS_A_PACKAGE = 1_000, 2_000, 10
SEQUENCES, REQUESTS = 10, 10
"""Of a hundred tools: so many are sequences, so many HTTP requests; the others are of packages."""


DAYS = 181
"""Calls and audit events were made in the 180 days before the filling, and on its own day."""

CASES, MEASUREMENTS = 500, 800
"""Labelled queries of agent 2, and how often it and the site were measured: two years of nights."""

DRAFTS = 200
"""Drafts of one person that were never published: as many as there may be."""

FEEDS, LOOKS = 10, 1_000
"""How many registries are looked through, and how often they were in all."""

BULK = {"events": ("registry_auditevent",), "calls": ("registry_invocation",)}


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How many rows there are to be. Three quarters of the tools can be found by search."""

    tools: int = 135_000
    invocations: int = 10_000_000
    turns: int = 300_000
    runs: int = 100_000

    @property
    def packages(self) -> int:
        """Return how many packages so many tools come in."""
        return max(1, self.tools // TOOLS_A_PACKAGE)

    @property
    def events(self) -> int:
        """Return how many audit events there are for so many calls."""
        return max(1, self.invocations // 10)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One table: `sql` inserts the rows %(first)s to %(last)s of `rows`, `chunk` at a time.

    The indexes of `bulk`, tables with very many rows, are built when all of it is done.
    """

    table: str
    rows: int
    sql: str
    chunk: int = CHUNK
    bulk: tuple[str, ...] = ()


def fill(sizes: Sizes) -> Iterator[tuple[Step, int]]:
    """Fill the tables; yield each step with how many of its rows are there.

    Triggers and foreign keys are not asked meanwhile, which a superuser of the database may do:
    it halves the time, and what is inserted here is right.
    """
    with connection.cursor() as cursor:
        cursor.execute(_statements()["setup"])
    values = _values(sizes)
    with much_memory():
        for step in steps(sizes):
            with without_indexes(step.bulk):
                yield from _filled(step, values)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        cursor.execute("SELECT pg_notify('outfitter_registry', '')")


def _filled(step: Step, values: dict[str, Any]) -> Iterator[tuple[Step, int]]:
    for first in range(1, step.rows + 1, step.chunk):
        last = min(step.rows, first + step.chunk - 1)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")
            cursor.execute(step.sql, values | {"first": first, "last": last})
        yield step, last


def is_filled() -> bool:
    """Tell whether it was done before."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT 1 FROM auth_user WHERE username = 'scale-1')")
        return bool(cursor.fetchone()[0])


def _values(sizes: Sizes) -> dict[str, Any]:
    return {
        "now": timezone.now(),
        "people": PEOPLE,
        "agents": AGENTS,
        "tools": sizes.tools,
        "packages": sizes.packages,
        "invocations": sizes.invocations,
        "turns": sizes.turns,
        "runs": sizes.runs,
        "events": sizes.events,
        "cases": CASES,
        "feeds": FEEDS,
        "looks": LOOKS,
        "sequences": SEQUENCES,
        "requests": SEQUENCES + REQUESTS,
        "sealed": seal("whsec_"),
        "faults": list(sums.fault_codes()),
    }


def steps(sizes: Sizes) -> list[Step]:
    """Return what is inserted, in order."""
    experiments = AGENTS + AGENTS // 10
    drafts = DRAFTS + 1 + sizes.tools // 100
    rows = {
        "people": PEOPLE,
        "packages": sizes.packages,
        "tools": sizes.tools,
        "vectors": sizes.tools,
        "versions": sizes.tools,
        "agents": AGENTS,
        "links": AGENTS * 10,
        "labelled queries": CASES * 4,
        "expected tools": CASES * 4,
        "measurements": MEASUREMENTS,
        "experiments": experiments,
        "arms": experiments,
        "arm tools": experiments,
        "conversations": max(1, sizes.turns // 3),
        "turns": sizes.turns,
        "heads of conversations": 1,
        "model sums": 1,
        "drafts": drafts,
        "states of drafts": drafts,
        "outputs of drafts": drafts,
        "inputs of drafts": drafts,
        "timetables": sizes.tools // 20,
        "webhooks": sizes.tools // 20,
        "deliveries": sizes.runs,
        "subscriptions": sizes.tools // 20,
        "event_deliveries": sizes.runs,
        "runs": sizes.runs,
        "steps of runs": sizes.runs,
        "questions of runs": sizes.runs,
        "files of runs": sizes.runs,
        "scores due": sizes.tools // 20,
        "health": sizes.tools,
        "schedules": sizes.packages,
        "decided": sizes.packages * 2,
        "proposals": sizes.packages // 5,
        "imports": sizes.packages * 2,
        "feeds": FEEDS,
        "looks": LOOKS,
        "entries": sizes.tools,
        "events": sizes.events,
        "calls": sizes.invocations,
    }
    statements = _statements()
    made = [
        Step(table=name, rows=count, sql=statements[name], bulk=BULK.get(name, ()))
        for name, count in rows.items()
    ]
    return [*made, _summed_up(sizes)]


def _summed_up(sizes: Sizes) -> Step:
    """Return the step that works out the sums of use, some days at a time."""
    tables = [sums.gathered(table) for table in sums.KEYS]
    day = "date_trunc('day', %(now)s::timestamptz, 'UTC')"
    calls = sums.recorded(
        f"created_at >= {day} - ({DAYS} - %(first)s) * interval '1 day'"
        f" AND created_at < {day} - ({DAYS} - 1 - %(last)s) * interval '1 day'"
    )
    return Step(
        table="sums",
        rows=DAYS,
        sql=sums.steps(calls, *tables, sums.errors_gathered()),
        chunk=max(1, DAYS * CHUNK // sizes.invocations),
        bulk=(*(f"registry_{table}" for table in sums.KEYS), "registry_errorusage"),
    )


@cache
def _statements() -> dict[str, str]:
    """Return the statements of `scale.sql` by the names of their steps."""
    _, *parts = STATEMENTS.read_text().split("-- step: ")
    return {name.strip(): sql for name, _, sql in (part.partition("\n") for part in parts)}
