"""`manage.py roll_up_usage`."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand

from registry.usage.rolling import usage_rebuild, usage_roll_up


class Command(BaseCommand):
    """Add the calls that wait to the sums of use."""

    help = "Add the calls that wait to the sums of use, or work those out anew."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take whether to start from the calls themselves."""
        parser.add_argument(
            "--rebuild",
            action="store_true",
            help="work the sums out anew from the calls that are kept, day by day",
        )

    def handle(self, *_args: Any, rebuild: bool, verbosity: int, **_options: Any) -> None:
        """Roll up, and say how many calls that were."""

        def told(day: datetime, calls: int) -> None:
            if verbosity > 1:
                self.stdout.write(f"{day:%Y-%m-%d}: {calls:,} calls")

        count = usage_rebuild(told=told) if rebuild else usage_roll_up()
        self.stdout.write(self.style.SUCCESS(f"{count:,} calls added to the sums of use."))
