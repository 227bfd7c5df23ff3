"""`manage.py import_mcp`."""

from typing import Any

from django.core.management.base import CommandParser

from registry.importing.jobs import import_request
from registry.importing.mcp_sources import name_for, request_of, settings_from
from registry.management.importing import ImportCommand
from registry.models import ImportJob
from registry.models.package import Ecosystem


class Command(ImportCommand):
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
        super().add_arguments(parser)

    def job_of(self, options: dict[str, Any]) -> ImportJob:
        """Ask for the import of the server's tools."""
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
