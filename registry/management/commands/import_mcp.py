"""`manage.py import_mcp`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.lib.errors import DomainError
from registry.importing.jobs import import_request, import_run
from registry.importing.mcp_sources import name_for, request_of, settings_from
from registry.models import ImportJob, Package
from registry.models.package import Ecosystem, ReviewStatus
from registry.services import package_review


class Command(BaseCommand):
    """Import the tools of an MCP server, here and now."""

    help = (
        "Import the tools of an MCP server, here and now. Its variables are read from the "
        "environment for the import; the calls read them from the credentials of whoever calls."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take where the server is and what it needs."""
        parser.add_argument(
            "server", metavar="URL|npm:PACKAGE|pypi:PACKAGE", help="its address, or its package"
        )
        parser.add_argument("--name", default="", help="what to call it; by default after itself")
        parser.add_argument(
            "--arg", action="append", default=[], help="argument of a package's command (repeat)"
        )
        parser.add_argument(
            "--command", default="", dest="started", help="command of a package that has several"
        )
        parser.add_argument(
            "--env", action="append", default=[], help="name of a variable it needs (repeat)"
        )
        parser.add_argument(
            "--bearer", default="", help="name of the variable that signs in to an address"
        )
        parser.add_argument(
            "--approve", action="store_true", help="let everyone use its tools at once"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Import, telling each stage and each tool."""
        try:
            job = _request(options)
        except DomainError as error:
            raise CommandError(f"{error.message} {error.hint} ({error.code})") from error
        if import_run(job.pk, told=self.stdout.write) is None:
            raise CommandError(f"{job.name} is being imported already; see the packages page.")
        job.refresh_from_db()
        if job.error:
            raise CommandError("{message} {hint} ({code})".format(**job.error))
        for entry in job.report:
            self.stdout.write(f"  {entry['status']:<9} {entry['export']} {entry['message']}")
        package = Package.objects.get(jobs=job)
        for finding in package.findings:
            self.stdout.write(f"  {finding['code']}: {finding['path']}: {finding['message']}")
        if options["approve"]:
            package_review(package, status=ReviewStatus.APPROVED)
        status = package.get_review_status_display().lower()
        self.stdout.write(self.style.SUCCESS(f"{package} is imported ({status})."))


def _request(options: dict[str, Any]) -> ImportJob:
    settings, version = settings_from(
        options["server"],
        arguments=options["arg"],
        command=options["started"],
        bearer=options["bearer"],
        env=options["env"],
    )
    name = options["name"] or name_for(request_of(settings).server)
    return import_request(
        ecosystem=Ecosystem.MCP,
        name=name,
        version=version,
        settings=settings,
        user=None,
        queued=False,
    )
