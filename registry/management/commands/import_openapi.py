"""`manage.py import_openapi`."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.lib.errors import DomainError
from config.lib.types import JsonObject
from registry.importing.jobs import import_request, import_run
from registry.importing.openapi.naming import slug
from registry.importing.openapi_documents import document_fetch, document_upload
from registry.importing.openapi_requests import ALL
from registry.models import ApiDocument, ImportJob, Package
from registry.models.package import Ecosystem, ReviewStatus
from registry.services import package_review


class Command(BaseCommand):
    """Import operations of an OpenAPI document as tools, here and now."""

    help = (
        "Import operations of an OpenAPI document as tools, here and now. Without --select and "
        "--all it lists the operations, or renews the choice that the package has."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the document, what to take of it, and where its requests go."""
        parser.add_argument("document", metavar="FILE|URL", help="OpenAPI 3.0 or 3.1")
        parser.add_argument(
            "--name", default="", help="what to call it; by default after its title"
        )
        parser.add_argument(
            "--select",
            action="append",
            default=[],
            metavar="OPERATION",
            help="operationId, “GET /path” or “tag:name” (repeat)",
        )
        parser.add_argument("--all", action="store_true", help="take every operation")
        parser.add_argument("--server", default="", help="where the requests go")
        parser.add_argument(
            "--approve", action="store_true", help="let everyone use its tools at once"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Import, telling each stage and each operation; or list what there is."""
        try:
            document = _document(options["document"])
            name = options["name"] or slug(document.title)
            known = Package.objects.filter(ecosystem=Ecosystem.OPENAPI, name=name).exists()
            if not (options["select"] or options["all"] or known):
                self._list(document)
                return
            job = _request(document, name, options)
        except DomainError as error:
            raise CommandError(f"{error.message} {error.hint} ({error.code})") from error
        if import_run(job.pk, told=self.stdout.write) is None:
            raise CommandError(f"{name} is being imported already; see the packages page.")
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

    def _list(self, document: ApiDocument) -> None:
        for row in document.overview:
            told = f"cannot be a tool: {row['problem']}" if row["problem"] else row["title"]
            self.stdout.write(f"  {row['key']:<40} {told}")
        self.stdout.write("Choose with --select OPERATION (repeat), or --all.")


def _document(source: str) -> ApiDocument:
    if source.startswith(("http://", "https://")):
        return document_fetch(source, user=None)
    path = Path(source)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CommandError(f"{source} cannot be read: {error.strerror}.") from error
    return document_upload(content, path.name, user=None)


def _request(document: ApiDocument, name: str, options: dict[str, Any]) -> ImportJob:
    settings: JsonObject = {"digest": document.digest}
    if document.url:
        settings["url"] = document.url
    if options["select"] or options["all"]:
        settings["selection"] = ALL if options["all"] else options["select"]
    if options["server"]:
        settings["server"] = options["server"]
    return import_request(
        ecosystem=Ecosystem.OPENAPI, name=name, settings=settings, user=None, queued=False
    )
