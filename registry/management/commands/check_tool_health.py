"""`manage.py check_tool_health`."""

from argparse import ArgumentParser
from typing import IO, Any, cast

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import Progress

from config.lib.errors import DomainError
from registry.importing.checks import CHECKS
from registry.importing.health_check import PackageCheck, packages_check
from registry.importing.schedule import packages_to_check


class Command(BaseCommand):
    """Look whether the tools of packages still load, and set their health."""

    help = (
        "Look at the tools of every package, in the sandbox, and set their health. Exits with 1 "
        "when a tool is broken or the check could not be carried out."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take which packages are meant."""
        parser.add_argument("--package", default="", help="only the package of this name")
        parser.add_argument(
            "--kind", default="", choices=sorted(CHECKS), help="only packages of this ecosystem"
        )

    def handle(self, *_args: Any, package: str, kind: str, **_options: Any) -> None:
        """Check package by package, with a line for each under a bar of progress."""
        found = packages_to_check(ecosystem=kind, name=package)
        total = found.count()
        if package and not total:
            raise CommandError(
                f"There is no package “{package}” whose tools can be checked. "
                "Look on the packages page for its name, and whether review stopped it."
            )
        broken = 0
        try:
            with Progress(console=Console(file=cast(IO[str], self.stderr))) as progress:
                task = progress.add_task("Checking", total=total)
                for check in packages_check(found):
                    broken += len(check.broken)
                    self.stdout.write(f"{check.package}: {_told(check)}")
                    progress.advance(task)
        except DomainError as error:
            raise CommandError(f"{error.message} {error.hint}") from error
        if broken:
            raise CommandError(f"{broken} tool{'s are' if broken > 1 else ' is'} broken.")
        checked = f"{total} package{'' if total == 1 else 's'} checked"
        self.stdout.write(self.style.SUCCESS(f"{checked}; every tool loads."))


def _told(check: PackageCheck) -> str:
    problems = "; ".join(f"{export}: {message}" for export, message in check.broken.items())
    count = len(check.healthy)
    loads = "1 tool loads" if count == 1 else f"{count} tools load"
    return problems or check.untold or loads
