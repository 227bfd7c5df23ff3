"""Copy the database into a file, and make a database of such a file.

Everything that is worth keeping is in PostgreSQL, artifacts and uploads included. The keys that
open its credentials are not in the copy: whoever finds a copy must not be able to read them.
"""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from shutil import which
from typing import Any

from django.conf import settings
from django.db import connection

from config.embedded import postgres
from config.embedded.errors import EmbeddedServiceError
from config.lib.errors import InvalidInput

SUFFIX = ".json"
"""Of the file beside a copy that says what is in it."""

ERROR_CHARACTERS = 2_000


class BackupFailed(Exception):
    """PostgreSQL's own program did not do it; the message has its words."""


@dataclass(frozen=True, kw_only=True)
class Note:
    """What is said beside a copy: when it was made, its digest, of which keys it needs one."""

    made_at: str
    sha256: str
    size: int
    keys: list[str]


def key_names() -> list[str]:
    """Return a name for each encryption key that tells nothing of it."""
    return [
        sha256(f"outfitter:{key}".encode()).hexdigest()[:16] for key in settings.ENCRYPTION_KEYS
    ]


def backup(file: Path, database: Mapping[str, Any] | None = None) -> Note:
    """Copy the database, as it is at one moment, into a file and a note beside it.

    Nobody has to stop working. Raises BackupFailed, and leaves no half of a file behind.
    """
    draft = file.with_name(f"{file.name}.part")
    draft.touch(mode=0o600)
    try:
        _run("pg_dump", database, "--format=custom", "--no-owner", f"--file={draft}")
        note = Note(
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
            sha256=_digest_of(draft),
            size=draft.stat().st_size,
            keys=key_names(),
        )
        _note_of(file).write_text(json.dumps(note.__dict__, indent=1) + "\n")
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
    return note


def restore(file: Path, database: Mapping[str, Any] | None = None) -> Note:
    """Fill an empty database from a copy, all of it or nothing.

    Raises InvalidInput where the copy is not whole or the database is not empty, BackupFailed
    where PostgreSQL refuses.
    """
    note = read_note(file)
    whole = ("--no-owner", "--exit-on-error", "--single-transaction")
    _run("pg_restore", database, *whole, str(file))
    return note


def read_note(file: Path) -> Note:
    """Return what is said of a copy, once it is clear that the copy is whole."""
    try:
        note = Note(**json.loads(_note_of(file).read_text()))
        digest = _digest_of(file)
    except (OSError, ValueError, TypeError) as error:
        raise InvalidInput(
            f"{file} is no backup, or {_note_of(file).name} beside it is missing.",
            "Bring both files, as `manage.py backup` wrote them.",
        ) from error
    if digest != note.sha256:
        raise InvalidInput(f"{file} is damaged: it is not what was written.", "Take another copy.")
    return note


def is_empty() -> bool:
    """Say whether the database has no table yet."""
    return not connection.introspection.table_names()


def opens_with_our_keys(note: Note) -> bool:
    """Say whether the newest key of the copy is among ours: it sealed what was set last."""
    return bool(note.keys) and note.keys[0] in key_names()


def _note_of(file: Path) -> Path:
    return file.with_name(f"{file.name}{SUFFIX}")


def _digest_of(file: Path) -> str:
    digest = sha256()
    with file.open("rb") as data:
        while chunk := data.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _run(program: str, database: Mapping[str, Any] | None, *arguments: str) -> None:
    """Run one of PostgreSQL's programs; the password goes by the environment, never by `ps`."""
    found = database or connection.settings_dict
    reach = {"PGHOST": "HOST", "PGPORT": "PORT", "PGUSER": "USER", "PGPASSWORD": "PASSWORD"}
    given = {name: str(found[key]) for name, key in reach.items() if found.get(key)}
    done = subprocess.run(
        [_program(program), "--no-password", f"--dbname={found['NAME']}", *arguments],
        env={**os.environ, **given},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BackupFailed(
            f"{program} failed: {done.stderr.strip()[-ERROR_CHARACTERS:]} "
            "See that the database answers, and that the disk has room."
        )


def _program(name: str) -> str:
    """Return the embedded PostgreSQL's own program, or the machine's."""
    try:
        found = postgres.program(name)
    except EmbeddedServiceError:
        found = None
    if found is not None and found.exists():
        return str(found)
    if on_path := which(name):
        return on_path
    raise BackupFailed(f"{name} is not installed: it is one of PostgreSQL's client programs.")
