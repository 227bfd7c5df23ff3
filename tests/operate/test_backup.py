"""A backup is restored into a new database: tools, credentials, runs and files are there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection

from agents.models import Credential
from chat.models import Artifact
from config import backups
from config.lib.errors import InvalidInput
from config.lib.sealing import open_sealed, seal
from registry.models import Tool
from sequences.models import Run, RunStep
from tests import factories
from tests.sequences.workshop import ran, step

pytestmark = pytest.mark.django_db(transaction=True)

KEY = "a-key-that-alice-stored"


@pytest.fixture
def empty_database() -> Iterator[dict[str, Any]]:
    """Give the settings of a new database on the same server."""
    ours = connection.settings_dict
    name = f"restored_{os.getpid()}"
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
    yield {**ours, "NAME": name}
    with connection.cursor() as cursor:
        cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def in_database(database: dict[str, Any], sql: str, *given: object) -> list[tuple[Any, ...]]:
    reach = {"host": database["HOST"], "port": database["PORT"] or None, "user": database["USER"]}
    with psycopg.connect(dbname=database["NAME"], **reach) as opened:
        return opened.execute(sql, given).fetchall()


def test_what_was_backed_up_is_there_after_a_restore(
    alice: User, tmp_path: Path, empty_database: dict[str, Any]
) -> None:
    calculator = factories.make_builtin("calculator")
    expression = {"expression": {"source": "static", "value": "6*7"}}
    run = ran(alice, step(calculator, inputMapping=expression))
    Credential.objects.create(owner=alice, name="WEATHER_KEY", ciphertext=seal(KEY))
    file = tmp_path / "outfitter.dump"
    note = backups.backup(file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert KEY.encode() not in file.read_bytes()
    assert backups.restore(file, empty_database) == note
    for model in (Tool, Run, RunStep, Artifact):
        table = model._meta.db_table
        sql = f"SELECT count(*) FROM {table}"  # noqa: S608 -- the name of a model's table
        [(count,)] = in_database(empty_database, sql)
        assert count == model._default_manager.count()
    [(status,)] = in_database(
        empty_database, "SELECT status FROM sequences_run WHERE id = %s", run.pk
    )
    assert status == "succeeded"
    [(sealed,)] = in_database(empty_database, "SELECT ciphertext FROM agents_credential")
    assert open_sealed(bytes(sealed)) == KEY


def test_a_damaged_copy_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "outfitter.dump"
    backups.backup(file)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)
    with pytest.raises(InvalidInput, match="is damaged"):
        backups.restore(file)


def test_a_copy_without_its_note_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is no backup"):
        backups.read_note(tmp_path / "nothing.dump")


def test_a_database_that_has_tables_is_not_restored_over(tmp_path: Path) -> None:
    file = tmp_path / "outfitter.dump"
    call_command("backup", str(file))
    with pytest.raises(CommandError, match="has tables"):
        call_command("restore", str(file))
    with pytest.raises(CommandError, match="exists"):
        call_command("backup", str(file))


def test_a_copy_that_our_keys_do_not_open_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "outfitter.dump"
    backups.backup(file)
    monkeypatch.setattr(settings, "ENCRYPTION_KEYS", ("another-key",))
    with pytest.raises(CommandError, match="a key that is not among"):
        call_command("restore", str(file))


def test_a_failed_copy_leaves_nothing_behind_and_says_why(tmp_path: Path) -> None:
    nowhere = {**connection.settings_dict, "NAME": "there-is-no-such-database"}
    with pytest.raises(backups.BackupFailed, match="pg_dump failed"):
        backups.backup(tmp_path / "x.dump", nowhere)
    assert list(tmp_path.iterdir()) == []
