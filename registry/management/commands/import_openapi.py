"""`manage.py import_openapi`."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from config.lib.types import JsonObject
from registry.importing.jobs import import_request
from registry.importing.openapi.naming import slug
from registry.importing.openapi_documents import document_fetch, document_upload
from registry.importing.openapi_requests import ALL
from registry.management.importing import ImportCommand
from registry.models import ApiDocument, ImportJob, Package
from registry.models.package import Ecosystem


class Command(ImportCommand):
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
        super().add_arguments(parser)

    def job_of(self, options: dict[str, Any]) -> ImportJob | None:
        """Ask for the import of the operations; or list what there is."""
        document = _document(options["document"])
        name = options["name"] or slug(document.title)
        known = Package.objects.filter(ecosystem=Ecosystem.OPENAPI, name=name).exists()
        if not (options["select"] or options["all"] or known):
            self._list(document)
            return None
        return _request(document, name, options)

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
