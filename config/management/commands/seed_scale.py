"""`manage.py seed_scale`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import ProgrammingError
from rich.console import Console
from rich.progress import Progress

from config.management.scale import Sizes, fill, is_filled

SMALLEST = 100


class Command(BaseCommand):
    """Fill this database as a large company would."""

    help = (
        "Fill this database with made-up tools, calls, turns and runs, to see how quick every page "
        "is then (by default 135,000 tools, of which search finds 100,000, and 10 million calls: "
        "about 12 GB, ten minutes). They "
        "cannot be taken out again: use a database of its own (OUTFITTER_VAR or DATABASE_URL)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the sizes."""
        sizes = Sizes()
        parser.add_argument("--tools", type=int, default=sizes.tools)
        parser.add_argument("--invocations", type=int, default=sizes.invocations)
        parser.add_argument("--turns", type=int, default=sizes.turns)
        parser.add_argument("--runs", type=int, default=sizes.runs)
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Ask, fill, and tell how far it is."""
        names = ("tools", "invocations", "turns", "runs")
        if any(options[name] < SMALLEST for name in names):
            raise CommandError(f"Of everything there have to be at least {SMALLEST}.")
        sizes = Sizes(**{name: options[name] for name in names})
        if is_filled():
            raise CommandError("This database was filled before. Use another one.")
        if not options["yes"] and input("Fill this database for good? [y/N] ").lower() != "y":
            raise CommandError("Nothing was done.")
        try:
            self._fill(sizes)
        except ProgrammingError as error:
            raise CommandError(f"The database refused: {error} It takes a superuser.") from error
        self.stdout.write(self.style.SUCCESS("Filled."))

    def _fill(self, sizes: Sizes) -> None:
        console = Console(file=self.stdout)  # type: ignore[arg-type]
        with Progress(console=console) as progress:
            bars: dict[str, Any] = {}
            for step, done in fill(sizes):
                if step.table not in bars:
                    bars[step.table] = progress.add_task(step.table, total=step.rows)
                progress.update(bars[step.table], completed=done)
