"""`manage.py stop_tool`."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config.lib.errors import DomainError
from registry.models import Package, Tool
from registry.stopping import package_resume, package_stop, tool_resume, tool_stop


class Command(BaseCommand):
    """Stop a tool or a package without the web, in an emergency."""

    help = (
        "Stop a tool everywhere at once, by the name that models call it by, or with --package a "
        "whole package by its name: new calls are refused, running ones are ended. --resume lets "
        "it run again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take what is meant and why."""
        parser.add_argument("name", help="wire name of the tool, or name of the package")
        parser.add_argument("--reason", required=True, help="why; everybody who meets it reads it")
        parser.add_argument("--package", action="store_true", help="it is the name of a package")
        parser.add_argument("--ecosystem", default="", help="of two packages of one name, which")
        parser.add_argument("--resume", action="store_true", help="let it run again")

    def handle(
        self, *_args: Any, name: str, reason: str, package: bool, resume: bool, **options: Any
    ) -> None:
        """Stop or resume, and say so."""
        try:
            if package:
                change = package_resume if resume else package_stop
                change(_package(name, options["ecosystem"]), by=None, reason=reason)
            else:
                tool = Tool.objects.filter(wire_name=name, deleted_at=None).first()
                if tool is None:
                    raise CommandError(
                        f"There is no tool “{name}”. Give the name that models call it by, or "
                        "--package for the name of a package."
                    )
                (tool_resume if resume else tool_stop)(tool, by=None, reason=reason)
        except DomainError as error:
            raise CommandError(f"{error.message} {error.hint}") from error
        done = "runs again" if resume else "is stopped everywhere"
        self.stdout.write(self.style.SUCCESS(f"{name} {done}."))


def _package(name: str, ecosystem: str) -> Package:
    found = Package.objects.filter(name=name)
    if ecosystem:
        found = found.filter(ecosystem=ecosystem)
    packages = list(found[:2])
    if not packages:
        raise CommandError(f"There is no package “{name}”. Look on the packages page.")
    if len(packages) > 1:
        known = " or ".join(sorted(package.ecosystem for package in packages))
        raise CommandError(f"More than one package is named “{name}”: say --ecosystem {known}.")
    return packages[0]
