"""Empty the test database: what a flush of Django's leaves is kept once and put back each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.management.commands import flush
from django.db import OperationalError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from psycopg.errors import DeadlockDetected

from registry.models.triggers import AUDIT_CHANNEL, CHANGE_CHANNEL

KEPT = "kept"
"""The schema with a copy of each table that is not empty after a flush: roles, permissions, …"""

MOST_TRIES = 5
"""How often it is tried to empty the tables."""

MOST_BYTES = 32_000_000
"""Beyond this much, dead rows included, the tables are truncated."""

FOLLOWED = ("registry_tool", "registry_package")
"""Readers of these know by their files that they were emptied; see `registry.search.position`."""


class Command(flush.Command):
    """Empties all tables; content types and permissions keep their ids."""

    def handle(self, **options: Any) -> None:
        """Flush as Django does at first, and from then on restore what that left."""
        connection = connections[options["database"]]
        tables = connection.introspection.django_table_names(
            only_existing=True, include_views=False
        )
        with connection.cursor() as cursor:
            kept = _kept(cursor)
            if kept:
                _undisturbed(lambda: _restore(connection, cursor, tables, kept))
                return
        super().handle(**options)
        with connection.cursor() as cursor:
            _keep(cursor, tables)


def _undisturbed(restore: Callable[[], None]) -> None:
    """Restore, and again where the database broke that off.

    The running product may write on behind a test. Where it holds one table and wants another that
    is held here, neither would ever go on: the database ends the one or the other.
    """
    for last in [False] * (MOST_TRIES - 1) + [True]:
        try:
            restore()
            return
        except OperationalError as problem:
            if last or not isinstance(problem.__cause__, DeadlockDetected):
                raise


def _kept(cursor: CursorWrapper) -> list[str]:
    cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [KEPT])
    return [name for (name,) in cursor.fetchall()]


def _keep(cursor: CursorWrapper, tables: list[str]) -> None:
    filled = [table for table in tables if _has_rows(cursor, table)]
    copies = [f"CREATE TABLE {KEPT}.{name} AS TABLE public.{name}" for name in filled]
    cursor.execute("; ".join([f"CREATE SCHEMA {KEPT}", *copies]))


def _restore(
    connection: BaseDatabaseWrapper, cursor: CursorWrapper, tables: list[str], kept: list[str]
) -> None:
    names = ", ".join(f"public.{table}" for table in tables)
    sizes = " + ".join(f"pg_relation_size('public.{table}')" for table in tables)
    with transaction.atomic(using=connection.alias):
        # whoever still writes is waited for, as TRUNCATE does
        cursor.execute(f"LOCK TABLE {names}")
        cursor.execute(f"SELECT {sizes}")
        large = cursor.fetchone()[0] > MOST_BYTES
        filled = [each for each in tables if each not in kept and _has_rows(cursor, each)]
        cursor.execute("SET LOCAL session_replication_role = replica")  # no trigger, no reference
        if large:
            cursor.execute(f"TRUNCATE {names}")
        else:
            cursor.execute("; ".join(f"DELETE FROM public.{each}" for each in filled) or "SELECT")  # noqa: S608
        cursor.execute("; ".join(map(_put_back, kept)))
        for channel in (CHANGE_CHANNEL, AUDIT_CHANNEL):
            cursor.execute("SELECT pg_notify(%s, '')", [channel])
    for table in () if large else filled:
        # new rows stand in their order again; those of a table that is followed in another file
        full = "FULL" if table in FOLLOWED else ""
        cursor.execute(f"VACUUM {full} public.{table}")


def _put_back(table: str) -> str:
    """Return SQL that makes a table equal to its copy; mostly it is."""
    present, copied = f"public.{table} AS new", f"{KEPT}.{table} AS old"
    return (
        f"DELETE FROM {present} WHERE new::text NOT IN (SELECT old::text FROM {copied});"  # noqa: S608
        f"INSERT INTO public.{table} SELECT old.* FROM {copied}"
        f" WHERE old::text NOT IN (SELECT new::text FROM {present})"
    )


def _has_rows(cursor: CursorWrapper, table: str) -> bool:
    cursor.execute(f"SELECT EXISTS (SELECT FROM public.{table})")  # noqa: S608
    (found,) = cursor.fetchone()
    return bool(found)
