"""Statements that are asked again and again: PostgreSQL reads and plans each once a connection.

Django words a statement with its values anew each time, which for a short one takes longer than
to answer it. Nothing that the audit hears of may be written so: a prepared statement stands
alone, and cannot be told who writes (`config.lib.changes`).
"""

from collections.abc import Sequence
from typing import Any

import psycopg
from django.db import connection

Row = tuple[Any, ...]


def first_row(sql: str, values: Sequence[Any]) -> Row | None:
    """Carry a statement out, and return the first row of its answer, None where there is none."""
    with _cursor() as cursor:
        cursor.execute(sql, values)
        row: Row | None = cursor.fetchone()
    return row


def all_rows(sql: str, values: Sequence[Any]) -> list[Row]:
    """Carry a statement out, and return its whole answer."""
    with _cursor() as cursor:
        cursor.execute(sql, values)
        rows: list[Row] = cursor.fetchall()
    return rows


def _cursor() -> Any:
    """Return a cursor of Django's whose values go apart from the statement."""
    connection.ensure_connection()
    wrapped = connection.make_debug_cursor if connection.queries_logged else connection.make_cursor
    return wrapped(psycopg.Cursor(connection.connection))
