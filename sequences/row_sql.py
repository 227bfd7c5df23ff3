"""Several writes as one statement, worded once: one round trip, and one commit.

Django takes longer to word an INSERT than PostgreSQL to carry it out, and a run writes two rows a
step.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections, models

from config.lib.prepared import first_row

Part = tuple[str, list[Any]]
"""SQL and its values."""


def synchronous() -> str:
    """Return the SQL by which this commit waits for the disk, or does not (`RUN_COMMITS`)."""
    return no_waiting() if settings.RUN_COMMITS == "async" else "true"


def no_waiting() -> str:
    """Return the SQL by which this commit does not wait for the disk; a later one may."""
    return "set_config('synchronous_commit', 'off', true)"


class Statement:
    """A statement made of parts that all happen or none does; a later one may read an earlier."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._values: list[Any] = []

    def add(self, sql: str, values: Sequence[Any], name: str = "") -> None:
        """Add a part; `name` is that of its answer, if it gives one."""
        name = name or f"part_{len(self._parts)}"
        self._parts.append(f"{name} AS ({sql})")
        self._values.extend(values)

    def run(self, answer: str) -> Any:
        """Carry it out, and return the one value that the query `answer` gives."""
        row = first_row(f"WITH {', '.join(self._parts)} {answer}", self._values)
        return row[0] if row else None


def inserted(row: models.Model, source: str) -> Part:
    """Return the INSERT of a row, once for each row of `source`; twice it does nothing."""
    sql, fields = _insert(type(row))
    return f"{sql} {source} ON CONFLICT (id) DO NOTHING", _values(row, fields)


def updated(row: models.Model, names: tuple[str, ...], condition: str) -> Part:
    """Return the UPDATE of these fields of a row, where `condition` holds."""
    _, fields = _update(type(row), names)
    values = {field.name: getattr(row, field.attname) for field in fields}
    return changed(row, values, condition)


def changed(row: models.Model, values: Mapping[str, Any], condition: str) -> Part:
    """Return the UPDATE of a row to these values, where `condition` holds; the row stays as is."""
    sql, fields = _update(type(row), tuple(values))
    given = zip(fields, values.values(), strict=True)
    here = connections[DEFAULT_DB_ALIAS]
    prepared = [field.get_db_prep_save(value, here) for field, value in given]
    return f"{sql} AND {condition}", [*prepared, row.pk]


Field = models.Field[Any, Any]


@cache
def _insert(model: type[models.Model]) -> tuple[str, tuple[Field, ...]]:
    fields = tuple(model._meta.concrete_fields)
    columns = ", ".join(f'"{field.column}"' for field in fields)
    values = ", ".join(f"%s::{field.rel_db_type(connection)}" for field in fields)
    return f'INSERT INTO "{model._meta.db_table}" ({columns}) SELECT {values}', fields


@cache
def _update(model: type[models.Model], names: tuple[str, ...]) -> tuple[str, tuple[Field, ...]]:
    by_name = {field.name: field for field in model._meta.concrete_fields}
    fields = tuple(by_name[name] for name in names)
    changes = ", ".join(f'"{field.column}" = %s' for field in fields)
    return f'UPDATE "{model._meta.db_table}" SET {changes} WHERE id = %s', fields  # noqa: S608


def _values(row: models.Model, fields: Sequence[Field]) -> list[Any]:
    here = connections[DEFAULT_DB_ALIAS]  # asked once: it is another in each thread
    return [field.get_db_prep_save(field.pre_save(row, True), here) for field in fields]
