"""`manage.py check_tool_health`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config.lib.errors import DomainError
from registry.importing.health_check import PackageCheck, packages_check, packages_to_check

BAR_WIDTH = 24


class Command(BaseCommand):
    """Read the exports of every imported package again and set the health of its tools."""

    help = (
        "Read the exports of every imported package again, in the sandbox, and set the health of "
        "its tools. Exits with 1 when a tool is broken or the check could not be carried out."
    )

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Check package by package, with a line for each."""
        total = packages_to_check().count()
        broken = 0
        try:
            for number, check in enumerate(packages_check(), start=1):
                broken += len(check.broken)
                self.stdout.write(f"{_bar(number, total)} {check.package}: {_told(check)}")
        except DomainError as error:
            raise CommandError(f"{error.message} {error.hint}") from error
        if broken:
            raise CommandError(f"{broken} tool{'s are' if broken > 1 else ' is'} broken.")
        self.stdout.write(self.style.SUCCESS(f"{total} packages checked; every tool loads."))


def _bar(number: int, total: int) -> str:
    done = BAR_WIDTH * number // total if total else BAR_WIDTH
    return f"[{'#' * done}{'.' * (BAR_WIDTH - done)}] {number}/{total}"


def _told(check: PackageCheck) -> str:
    problems = "; ".join(f"{export}: {message}" for export, message in check.broken.items())
    return problems or f"{len(check.healthy)} tools load"
