"""Fill a database with as much as a large company has, to see whether every page stays quick.

The rows are made by PostgreSQL itself, in steps, each one transaction. All are named `scale-…` and
their ids are digests of what they are and their number, so one row finds another by arithmetic.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.db import connection, transaction

CHUNK = 200_000

STATEMENTS = Path(__file__).with_name("scale.sql")

PEOPLE, AGENTS, TOOLS_A_PACKAGE = 1_000, 2_000, 10
SEQUENCES, REQUESTS = 10, 10
"""Of a hundred tools: so many are sequences, so many HTTP requests; the others are of packages."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How many rows there are to be."""

    tools: int = 100_000
    invocations: int = 10_000_000
    turns: int = 300_000
    runs: int = 100_000

    @property
    def packages(self) -> int:
        """Return how many packages so many tools come in."""
        return max(1, self.tools // TOOLS_A_PACKAGE)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One table: `sql` inserts the rows %(first)s to %(last)s of `rows`."""

    table: str
    rows: int
    sql: str


def fill(sizes: Sizes) -> Iterator[tuple[Step, int]]:
    """Fill the tables; yield each step with how many of its rows are there.

    Triggers and foreign keys are not asked meanwhile, which a superuser of the database may do:
    it halves the time, and what is inserted here is right.
    """
    with connection.cursor() as cursor:
        cursor.execute(_statements()["setup"])
    for step in steps(sizes):
        for first in range(1, step.rows + 1, CHUNK):
            last = min(step.rows, first + CHUNK - 1)
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("SET LOCAL session_replication_role = replica")
                cursor.execute(step.sql, _values(sizes, first, last))
            yield step, last
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        cursor.execute("SELECT pg_notify('outfitter_registry', '')")


def is_filled() -> bool:
    """Tell whether it was done before."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT 1 FROM auth_user WHERE username = 'scale-1')")
        return bool(cursor.fetchone()[0])


def _values(sizes: Sizes, first: int, last: int) -> dict[str, int]:
    return {
        "first": first,
        "last": last,
        "people": PEOPLE,
        "agents": AGENTS,
        "tools": sizes.tools,
        "packages": sizes.packages,
        "invocations": sizes.invocations,
        "turns": sizes.turns,
        "runs": sizes.runs,
        "sequences": SEQUENCES,
        "requests": SEQUENCES + REQUESTS,
    }


def steps(sizes: Sizes) -> list[Step]:
    """Return what is inserted, in order."""
    rows = {
        "people": PEOPLE,
        "packages": sizes.packages,
        "tools": sizes.tools,
        "versions": sizes.tools,
        "agents": AGENTS,
        "links": AGENTS * 10,
        "conversations": max(1, sizes.turns // 3),
        "turns": sizes.turns,
        "runs": sizes.runs,
        "calls": sizes.invocations,
    }
    statements = _statements()
    return [Step(table=name, rows=count, sql=statements[name]) for name, count in rows.items()]


@cache
def _statements() -> dict[str, str]:
    """Return the statements of `scale.sql` by the names of their steps."""
    _, *parts = STATEMENTS.read_text().split("-- step: ")
    return {name.strip(): sql for name, _, sql in (part.partition("\n") for part in parts)}
