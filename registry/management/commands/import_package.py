"""`manage.py import_package`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.lib.errors import DomainError
from registry.importing.jobs import import_request, import_run
from registry.models import ImportJob, Package
from registry.models.package import Ecosystem, ReviewStatus
from registry.services import package_review


class Command(BaseCommand):
    """Import a package and its tools, here and now."""

    help = "Import a package and its tools, here and now: import_package npm NAME[@VERSION]."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the ecosystem, the package, and whether to approve it at once."""
        parser.add_argument("ecosystem", choices=[Ecosystem.NPM])
        parser.add_argument("package", metavar="NAME[@VERSION]", help="such as @scope/name@1.2.3")
        parser.add_argument(
            "--approve", action="store_true", help="let everyone use its tools at once"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Import, telling each stage and each tool."""
        name, version = split_version(options["package"])
        try:
            job = import_request(
                ecosystem=options["ecosystem"],
                name=name,
                version=version,
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


def split_version(package: str) -> tuple[str, str]:
    """Split `@scope/name@1.2.3` into name and version; without a version that is empty."""
    name, _, version = package[1:].partition("@")
    return package[:1] + name, version
