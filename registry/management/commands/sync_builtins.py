"""`manage.py sync_builtins`."""

from typing import Any

from django.core.management.base import BaseCommand

from registry.importing.builtins import builtins_sync


class Command(BaseCommand):
    """Bring the rows of the built-in tools up to date with this release."""

    help = (
        "Bring the built-in tools up to date with this release. Safe to repeat; a review that a "
        "governor changed stays as it is."
    )

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Say how many tools are others now."""
        self.stdout.write(f"Built-in tools: {len(builtins_sync())} changed.")
