"""Fill tables without their indexes, which are built when the rows are there."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import connection

_INDEXES = """
    SELECT i.indrelid::regclass::text, i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid),
        c.conname, pg_get_constraintdef(c.oid)
    FROM pg_index i
    LEFT JOIN pg_constraint c ON c.conindid = i.indexrelid AND c.contype IN ('p', 'u')
    WHERE i.indrelid = ANY(%s::regclass[])"""

MEMORY = "512MB"
"""What the database may use to sort and to build one index."""


@contextmanager
def without_indexes(tables: Sequence[str]) -> Iterator[None]:
    """Drop the indexes of tables that no foreign key leads to; build them again at the end."""
    with connection.cursor() as cursor:
        cursor.execute(_INDEXES, [list(tables)])
        indexes = cursor.fetchall()
        for table, index, _, constraint, _ in indexes:
            if constraint:
                cursor.execute(f'ALTER TABLE {table} DROP CONSTRAINT "{constraint}"')
            else:
                cursor.execute(f"DROP INDEX {index}")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            for table, _, definition, constraint, constrained in indexes:
                added = f'ALTER TABLE {table} ADD CONSTRAINT "{constraint}" {constrained}'
                cursor.execute(added if constraint else definition)
            for table in tables:
                cursor.execute(f"ANALYZE {table}")


@contextmanager
def much_memory() -> Iterator[None]:
    """Let this connection sort and build indexes in memory."""
    settings = ("maintenance_work_mem", "work_mem")
    with connection.cursor() as cursor:
        for setting in settings:
            cursor.execute(f"SET {setting} = '{MEMORY}'")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            for setting in settings:
                cursor.execute(f"RESET {setting}")
