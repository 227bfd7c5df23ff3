"""Migrations from decision 24 on do not stop the version that runs beside them.

The rule is in docs/how-to/deploy.md. A migration that is safe for a reason that cannot be seen
here, or that is the last step of three, says so: `SAFE = "why"` in its module.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation

BEFORE = {"registry": 33, "agents": 12, "sequences": 10, "chat": 9}
"""The last migration of each app from before the rule."""

REMOVES = (
    migrations.RemoveField,
    migrations.RenameField,
    migrations.DeleteModel,
    migrations.RenameModel,
    migrations.AlterModelTable,
)


def troubles(migration: migrations.Migration) -> list[str]:
    """Return what the operations of a migration would do to the version beside it."""
    new = {op.name_lower for op in migration.operations if isinstance(op, migrations.CreateModel)}
    return [
        f"{type(operation).__name__}: {trouble}"
        for operation in migration.operations
        for trouble in _troubles(operation, migration, new)
    ]


def _troubles(
    operation: Operation, migration: migrations.Migration, new: set[str]
) -> Iterator[str]:
    if isinstance(operation, REMOVES):
        yield "code of the version before still uses it"
    if isinstance(operation, migrations.RunPython) and migration.atomic:
        yield "it holds its locks until all of it is done: atomic = False, and batches"
    if getattr(operation, "model_name_lower", "") in new:
        return
    if isinstance(operation, migrations.AddField):
        field = operation.field
        if not field.null and not field.has_db_default() and not field.many_to_many:
            yield f"{operation.name} is NOT NULL without db_default"
        if field.unique or field.db_index:
            yield f"the index of {operation.name} is made while the table is locked"
    if isinstance(operation, migrations.AddIndex) and not isinstance(
        operation, AddIndexConcurrently
    ):
        yield "use AddIndexConcurrently, in a migration with atomic = False"
    if isinstance(operation, migrations.AddConstraint):
        yield "it is checked while the table is locked: AddConstraintNotValid, then validate"
    if isinstance(operation, migrations.AlterField) and not operation.field.null:
        yield "its type or NOT NULL is changed while the table is locked"


def since_the_rule() -> list[tuple[str, migrations.Migration, str]]:
    """Return our migrations from the rule on, each with the reason that it gives."""
    found = []
    for (app, name), migration in MigrationLoader(None).disk_migrations.items():
        if app in BEFORE and int(name[:4]) > BEFORE[app]:
            module = __import__(type(migration).__module__, fromlist=["SAFE"])
            found.append((f"{app}.{name}", migration, getattr(module, "SAFE", "")))
    return found


def test_new_migrations_do_not_stop_the_version_beside_them() -> None:
    unsafe = {
        name: found
        for name, migration, reason in since_the_rule()
        if not reason and (found := troubles(migration))
    }
    assert unsafe == {}, "see docs/how-to/deploy.md#migrations"


def migration_of(*operations: Operation, atomic: bool = True) -> migrations.Migration:
    made = migrations.Migration("m", "app")
    made.operations, made.atomic = list(operations), atomic
    return made


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        (migrations.RemoveField("thing", "colour"), "still uses it"),
        (migrations.RenameField("thing", "colour", "color"), "still uses it"),
        (migrations.DeleteModel("Thing"), "still uses it"),
        (migrations.AddField("thing", "size", models.IntegerField()), "NOT NULL"),
        (migrations.AddField("thing", "size", models.IntegerField(default=1)), "NOT NULL"),
        (
            migrations.AddField("thing", "size", models.IntegerField(null=True, db_index=True)),
            "index of size",
        ),
        (migrations.AddIndex("thing", models.Index(fields=["size"], name="i")), "Concurrently"),
        (
            migrations.AddConstraint(
                "thing", models.CheckConstraint(condition=models.Q(size=1), name="c")
            ),
            "NotValid",
        ),
        (migrations.RunPython(lambda apps, editor: None), "atomic = False"),
        (migrations.AlterField("thing", "size", models.BigIntegerField()), "changed while"),
    ],
)
def test_what_would_stop_it_is_found(operation: Operation, words: str) -> None:
    [trouble] = troubles(migration_of(operation))
    assert words in trouble


@pytest.mark.parametrize(
    "operation",
    [
        migrations.AddField("thing", "size", models.IntegerField(null=True)),
        migrations.AddField("thing", "size", models.IntegerField(db_default=1)),
        AddIndexConcurrently("thing", models.Index(fields=["size"], name="i")),
        migrations.CreateModel("Other", [("id", models.BigAutoField(primary_key=True))]),
    ],
)
def test_what_is_only_added_may_be(operation: Operation) -> None:
    assert troubles(migration_of(operation)) == []


def test_a_table_that_is_new_may_have_everything() -> None:
    made = migration_of(
        migrations.CreateModel("Other", [("id", models.BigAutoField(primary_key=True))]),
        migrations.AddField("other", "size", models.IntegerField(db_index=True)),
        migrations.AddIndex("other", models.Index(fields=["size"], name="i")),
    )
    assert troubles(made) == []


def test_the_rule_begins_where_the_apps_were() -> None:
    last = dict.fromkeys(BEFORE, 0)
    for app, name in MigrationLoader(None).disk_migrations:
        if app in last:
            last[app] = max(last[app], int(name[:4]))
    assert all(last[app] >= number for app, number in BEFORE.items())
