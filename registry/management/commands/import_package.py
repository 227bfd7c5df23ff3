"""`manage.py import_package`."""

import json
import re
from typing import Any

from django.core.management.base import CommandError, CommandParser

from config.lib.types import JsonObject
from registry.importing.jobs import import_request
from registry.management.importing import ImportCommand
from registry.models import ImportJob
from registry.models.package import Ecosystem

ECOSYSTEMS = [Ecosystem.NPM, Ecosystem.PYPI, Ecosystem.LOCAL]
_RANGE = re.compile(r"\s*[=<>!~]=?.*$")


class Command(ImportCommand):
    """Import a package and its tools, here and now."""

    help = (
        "Import a package and its tools, here and now: import_package npm NAME[@VERSION], "
        "import_package pypi NAME[==VERSION] or import_package local MODULE."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the ecosystem, the package, its settings, and whether to approve it at once."""
        parser.add_argument("ecosystem", choices=ECOSYSTEMS)
        parser.add_argument(
            "package", metavar="NAME[@VERSION]", help="such as @scope/name@1.2.3 or name==1.2.3"
        )
        parser.add_argument(
            "--package-settings",
            metavar="JSON",
            help='of a Python package: {"module", "class_name", "tool_config", "env", …}',
        )
        super().add_arguments(parser)

    def job_of(self, options: dict[str, Any]) -> ImportJob:
        """Ask for the import of the package."""
        name, version = split_version(options["package"], options["ecosystem"])
        return import_request(
            ecosystem=options["ecosystem"],
            name=name,
            version=version,
            settings=settings_from(options["package_settings"]),
            user=None,
            queued=False,
        )


def settings_from(text: str | None) -> JsonObject | None:
    """Read the settings that were given as JSON; raises CommandError."""
    if text is None:
        return None
    try:
        settings = json.loads(text)
    except ValueError as error:
        raise CommandError(f"--package-settings is not JSON: {error}.") from error
    if not isinstance(settings, dict):
        raise CommandError("--package-settings must be a JSON object.")
    return settings


def split_version(package: str, ecosystem: str = Ecosystem.NPM) -> tuple[str, str]:
    """Split `@scope/name@1.2.3` into name and version; without a version that is empty.

    Python's `name==1.2.3` is split likewise, and `name>=1,<2` into a name and a range.
    """
    if ecosystem != Ecosystem.NPM and (found := _RANGE.search(package)):
        return package[: found.start()].strip(), found[0].strip().removeprefix("==")
    name, _, version = package[1:].partition("@")
    return package[:1] + name, version
