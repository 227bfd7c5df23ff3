"""`manage.py import_package`."""

import json
import re
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.lib.errors import DomainError
from config.lib.types import JsonObject
from registry.importing.jobs import import_request, import_run
from registry.models import ImportJob, Package
from registry.models.package import Ecosystem, ReviewStatus
from registry.services import package_review

ECOSYSTEMS = [Ecosystem.NPM, Ecosystem.PYPI, Ecosystem.LOCAL]
_RANGE = re.compile(r"\s*[=<>!~]=?.*$")


class Command(BaseCommand):
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
        parser.add_argument(
            "--approve", action="store_true", help="let everyone use its tools at once"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Import, telling each stage and each tool."""
        name, version = split_version(options["package"], options["ecosystem"])
        try:
            job = import_request(
                ecosystem=options["ecosystem"],
                name=name,
                version=version,
                settings=settings_from(options["package_settings"]),
                user=None,
                queued=False,
            )
        except DomainError as error:
            raise CommandError(f"{error.message} {error.hint} ({error.code})") from error
        if import_run(job.pk, told=self.stdout.write) is None:
            raise CommandError(f"{name} is being imported already; see the packages page.")
        job.refresh_from_db()
        if job.error:
            raise CommandError("{message} {hint} ({code})".format(**job.error))
        self._tell(job)
        package = Package.objects.get(jobs=job)
        if options["approve"]:
            package_review(package, status=ReviewStatus.APPROVED)
        status = package.get_review_status_display().lower()
        self.stdout.write(self.style.SUCCESS(f"{package} is imported ({status})."))

    def _tell(self, job: ImportJob) -> None:
        for entry in job.report:
            self.stdout.write(f"  {entry['status']:<9} {entry['export']} {entry['message']}")
        for finding in job.package.findings if job.package else []:
            self.stdout.write(f"  {finding['code']}: {finding['path']}: {finding['message']}")


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
