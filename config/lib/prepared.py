"""Statements that are asked again and again: PostgreSQL reads and plans each once a connection.

Django words a statement with its values anew each time, which for a short one takes longer than
to answer it. Nothing that the audit hears of may be written so: a prepared statement stands
alone, and cannot be told who writes (`config.lib.changes`).
"""

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any, Generic, TypeVar, cast

import psycopg
from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.db.models import Model, QuerySet
from django.db.models.query import get_related_populators

Row = tuple[Any, ...]

AnyModel = TypeVar("AnyModel", bound=Model)


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


def insert(row: Model) -> None:
    """Write a new row of a model that nobody listens to: no signals are sent.

    In a model that the audit hears of this may not be used.
    """
    sql, fields = _insertion(type(row))
    database = _database()
    values = [field.pre_save(row, add=True) for field in fields]
    if any(hasattr(value, "resolve_expression") for value in values):
        row.save(force_insert=True)  # such as a JSON null, which the ORM has to word
        return
    told = [
        field.get_db_prep_save(value, database) for field, value in zip(fields, values, strict=True)
    ]
    with transaction.mark_for_rollback_on_error(database.alias), _cursor() as cursor:
        cursor.execute(sql, told)
    row._state.adding, row._state.db = False, database.alias


@cache
def _insertion(model: type[Model]) -> tuple[str, Sequence[Any]]:
    fields, quoted = model._meta.local_concrete_fields, connection.ops.quote_name
    columns = ", ".join(quoted(str(field.column)) for field in fields)
    places = ", ".join(["%s"] * len(fields))
    table = quoted(model._meta.db_table)
    return f"INSERT INTO {table} ({columns}) VALUES ({places})", fields  # noqa: S608 - own names


def _cursor() -> Any:
    """Return a cursor of Django's whose values go apart from the statement.

    Where statements are logged they stay together, so that the log can be read, and explained.
    """
    database = _database()
    if database.queries_logged:
        return database.cursor()
    database.ensure_connection()
    return database.make_cursor(cast(CursorWrapper, psycopg.Cursor(database.connection)))


def _database() -> BaseDatabaseWrapper:
    """Return what `connection` stands for here, which looks for it at each word."""
    return connections[DEFAULT_DB_ALIAS]


class Worded(Generic[AnyModel]):
    """A query of the ORM, worded at its first use, which is asked with other values each time.

    `query` makes it with any values; an answer is made of what `select_related` names besides.
    """

    def __init__(self, query: Callable[[], QuerySet[AnyModel]]) -> None:
        self._query = query

    def all(self, *values: Any) -> list[AnyModel]:
        """Ask with these values, in the order in which the query's SQL has them."""
        sql, make = self._worded
        return make(all_rows(sql, values))

    @cached_property
    def _worded(self) -> tuple[str, Callable[[list[Row]], list[AnyModel]]]:
        compiler: Any = self._query().query.get_compiler(connection.alias)
        sql, _ = compiler.as_sql()
        info, select = compiler.klass_info, compiler.select
        converters = compiler.get_converters([column[0] for column in select])
        first, last = info["select_fields"][0], info["select_fields"][-1] + 1
        names = [column[0].target.attname for column in select[first:last]]
        populators: Any = get_related_populators  # its stub is of another release
        related = populators(info, select, connection.alias)

        def make(rows: list[Row]) -> list[AnyModel]:
            made = []
            for row in compiler.apply_converters(rows, converters):
                instance = info["model"].from_db(connection.alias, names, row[first:last])
                for populator in related:
                    populator.populate(row, instance)
                made.append(instance)
            return made

        return sql, make
