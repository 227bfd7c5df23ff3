"""`manage.py restore FILE`: an empty database becomes what a backup holds."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from config.backups import BackupFailed, is_empty, opens_with_our_keys, read_note, restore
from config.lib.errors import DomainError


class Command(BaseCommand):
    """Fill an empty database from a backup, and bring its tables up to date."""

    help = (
        "Fill an empty database from a file that `backup` wrote, all of it or nothing, and bring "
        "its tables up to date. Refuses a database that has tables, and a copy that is damaged or "
        "sealed with keys that are not here."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("file", type=Path, help="what `backup` wrote")
        parser.add_argument(
            "--without-keys", action="store_true", help="although its credentials stay sealed"
        )

    def handle(self, *_: Any, file: Path, without_keys: bool, **options: Any) -> None:
        """Look at the copy, then restore it."""
        try:
            note = read_note(file)
            if not opens_with_our_keys(note) and not without_keys:
                raise CommandError(
                    "The credentials in this backup are sealed with a key that is not among "
                    "OUTFITTER_ENCRYPTION_KEYS. Bring the key, or go on with --without-keys."
                )
            if not is_empty():
                raise CommandError("The database has tables. Restore into an empty one.")
            connection.close()
            self.stdout.write(f"Restoring what was copied at {note.made_at} …")
            restore(file)
        except (DomainError, BackupFailed) as error:
            raise CommandError(str(error)) from error
        call_command("migrate", interactive=False, verbosity=1)
        call_command("rotate_keys", check=True)
        self.stdout.write("Done. Start the processes; the search index is read anew.")
