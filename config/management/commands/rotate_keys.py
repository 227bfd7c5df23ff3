"""`manage.py rotate_keys`."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config.sealed import Rotation, rotate, sealed_count, unreadable

BAR_WIDTH = 24


class Command(BaseCommand):
    """Seal every stored secret with the newest encryption key."""

    help = (
        "Seal every stored secret with the newest of OUTFITTER_ENCRYPTION_KEYS. It may be broken "
        "off and started again. Exits with 1 when a value cannot be opened with any key; it is "
        "named with its owner and left as it is."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "--check", action="store_true", help="change nothing: only say what cannot be opened"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        """Rotate with a bar, then tell the result."""
        lost = self._checked() if options["check"] else self._rotated()
        for name in lost:
            self.stderr.write(self.style.ERROR(f"cannot be opened: {name}"))
        if lost:
            raise CommandError(
                f"{len(lost)} of {sealed_count()} sealed values cannot be opened. Bring the old "
                "key back into OUTFITTER_ENCRYPTION_KEYS, or let their owners set them again."
            )

    def _checked(self) -> list[str]:
        lost = unreadable()
        self.stdout.write(f"{sealed_count() - len(lost)} sealed values can be opened.")
        return lost

    def _rotated(self) -> list[str]:
        total = sealed_count()
        rotation = rotate(lambda number: self._bar(number, total))
        self.stdout.write(self._told(rotation))
        return rotation.unreadable

    def _bar(self, number: int, total: int) -> None:
        """Draw the bar anew on a terminal; elsewhere write a line for every hundredth part."""
        total = max(total, number)  # values that were added meanwhile
        done = BAR_WIDTH * number // total
        line = f"[{'#' * done}{'.' * (BAR_WIDTH - done)}] {number}/{total}"
        if self.stdout.isatty():
            self.stdout.write(f"\r{line}", ending="\n" if number == total else "")
        elif number == total or number % max(total // 100, 1) == 0:
            self.stdout.write(line)

    def _told(self, rotation: Rotation) -> str:
        words = f"{rotation.renewed} sealed anew, {rotation.done_before} had the newest key."
        return words if rotation.unreadable else self.style.SUCCESS(words)
