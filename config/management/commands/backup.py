"""`manage.py backup FILE`: a copy of everything that is kept, while everything goes on."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config.backups import BackupFailed, backup
from config.lib.errors import DomainError


class Command(BaseCommand):
    """Copy the database into a file."""

    help = (
        "Copy the database, as it is at one moment, into a file, with a note beside it. Nobody has "
        "to stop working. The keys that open its credentials are not in it: keep them elsewhere."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("file", type=Path, help="where to, such as outfitter.dump")

    def handle(self, *_: Any, file: Path, **options: Any) -> None:
        """Copy."""
        if file.exists():
            raise CommandError(f"{file} exists. Name another file; no backup is written over.")
        self.stdout.write("Copying the database …")
        try:
            note = backup(file)
        except (DomainError, BackupFailed) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{file}: {note.size / 1e6:.1f} MB, sha256 {note.sha256}")
        self.stdout.write(
            "Keep SECRET_KEY and OUTFITTER_ENCRYPTION_KEYS (var/secrets.json) in another place."
        )
