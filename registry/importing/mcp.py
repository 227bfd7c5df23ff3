"""Bring the tools of an MCP server into the registry: one server is one package."""

import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass

from django.conf import settings as configuration
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.module_loading import import_string

from config.lib.jsontext import storable
from config.lib.types import JsonObject
from registry.context import ignore_progress
from registry.errors import MissingCredential, ToolFailed
from registry.importing.access import require_may_change
from registry.importing.errors import NoTools
from registry.importing.mcp_sources import McpRequest, check_source, request_of
from registry.importing.mcp_tools import OfferedTool, offered_tools
from registry.importing.npm import Imported, Stage
from registry.importing.rows import locked_package, package_bring
from registry.mcp import client, door
from registry.mcp.settings import HttpServer, settings_of
from registry.models import ImportJob, Package
from registry.models.package import Ecosystem, ReviewStatus, Tier
from registry.models.tool import ToolKind
from registry.needs import GUEST_SAW
from registry.review.found import FoundPackage, FoundTool
from registry.sandbox.client import sandbox
from registry.sandbox.contract import Artifact

LONGEST_VERSION = 64
LONGEST_INSTRUCTIONS = 20_000


@dataclass(frozen=True, kw_only=True)
class _Found:
    """All that is known of a server before its rows are written."""

    name: str
    request: McpRequest
    artifact: Artifact | None
    listing: client.Listing
    tools: list[OfferedTool]
    findings: list[JsonObject]


def mcp_import(job: ImportJob, stage: Stage) -> Imported:
    """Connect to the server that a job names and bring its tools up to date.

    Nothing changes when it fails. Raises a DomainError that says whether the registry, the
    sandbox, the network or the server is at fault.
    """
    request = request_of(job.settings)
    artifact = _built(request, job.version, stage)
    stage(f"Asking {job.name} for its tools")
    package = Package.objects.filter(ecosystem=Ecosystem.MCP, name=job.name).first()
    listing = _listing(
        client.Target(
            server=request.server.model_copy(update={"protocol": ""}),  # to be found out anew
            name=job.name,
            artifact=artifact.artifact if artifact else "",
            env=_values(job.requested_by, request.env, package),
            network=tuple(package.allowed_hosts) if package else (),
        )
    )
    tools, findings = offered_tools(listing)
    if not tools:
        raise NoTools(
            f"{job.name} offers no tool that can be used.",
            "Choose a server that has tools; one with prompts or resources only is of no use here.",
            problems=findings,
        )
    stage(f"Saving {len(tools)} tool{'' if len(tools) == 1 else 's'}")
    found = _Found(
        name=job.name,
        request=request,
        artifact=artifact,
        listing=listing,
        tools=tools,
        findings=findings,
    )
    return _save(found, job.requested_by)


def _listing(target: client.Target) -> client.Listing:
    """Ask a server what it offers; one that ends for want of a key is told by that key."""
    try:
        return listing_of(target)
    except ToolFailed as error:
        if not (wanted := error.extra.get(GUEST_SAW)):
            raise
        names = " and ".join(wanted)
        raise MissingCredential(
            f"{target.name} looks for {names}, which it was not given. It said: {error.message}",
            "Set your own value under Credentials, and name the variable when you import it.",
            missing=wanted,
        ) from error


def listing_of(target: client.Target) -> client.Listing:
    """Ask a server what it offers, in a throw-away process where it is a package."""

    async def work(_: door.Note) -> client.Listing:
        return await client.listing(target, notes=client.Notes(progress=ignore_progress))

    return door.run(work, cancel=threading.Event(), note=ignore_progress)


def _built(request: McpRequest, version: str, stage: Stage) -> Artifact | None:
    server = request.server
    if isinstance(server, HttpServer):
        return None
    stage(f"Installing {server.package}@{version or 'latest'} without running its scripts")
    return sandbox().build(ecosystem=server.ecosystem, name=server.package, version=version or None)


def own_values(user: User | None, variables: Iterable[JsonObject]) -> dict[str, str]:
    """Return a person's own values of the variables: many servers do not start without."""
    names = [variable["name"] for variable in variables]
    if user is None or not names:
        return {}
    env = import_string(configuration.TOOL_CREDENTIALS)(user, None)
    return {name: value for name, value in env(names).items() if value}


def _values(
    user: User | None, variables: list[JsonObject], package: Package | None
) -> dict[str, str]:
    """Return the requester's own values; at the command line those of the environment.

    A server that somebody else brought, and that nobody has approved, is given none: it names the
    variables, and may name any. So do the variables that only wait for approval.
    """
    if package is not None and not _is_own(package, user):
        approved = package.review_status == ReviewStatus.APPROVED
        known = {variable["name"] for variable in package.env} if approved else set()
        variables = [variable for variable in variables if variable["name"] in known]
    if user is not None:
        return own_values(user, variables)
    names = [variable["name"] for variable in variables]
    return {name: os.environ[name] for name in names if os.environ.get(name)}


def _is_own(package: Package, user: User | None) -> bool:
    return package.added_by_id in (None, user.pk if user else None)


@transaction.atomic
def _save(found: _Found, user: User | None) -> Imported:
    package, made = locked_package(
        ecosystem=Ecosystem.MCP, name=found.name, defaults={"added_by": user}
    )
    if not made:
        require_may_change(package, user)
        check_source(package, found.request.server)
    whole = FoundPackage(values=_package_values(found), tools=found_tools(found.name, found.tools))
    return Imported(package=package, report=package_bring(package, whole, made=made, user=user))


def found_tools(server: str, offered: Iterable[OfferedTool]) -> list[FoundTool]:
    """Return what a server offers as the registry takes it."""
    return [
        FoundTool(
            export=tool.name,
            values={**tool.values, "kind": ToolKind.MCP},
            error=tool.error(server),
        )
        for tool in offered
    ]


def _package_values(found: _Found) -> JsonObject:
    listing, artifact = found.listing, found.artifact
    server = found.request.server.model_copy(update={"protocol": listing.protocol})
    version = artifact.version if artifact else str(listing.info.get("version", ""))
    return {
        "settings": settings_of(server),
        "env": found.request.env,
        "artifact": artifact.artifact if artifact else "",
        "integrity": artifact.integrity if artifact else "",
        "version": storable(version)[:LONGEST_VERSION],
        "description": _description(found),
        "tier": Tier.RICH,
        "manifest": storable(
            {
                "server": listing.info,
                "protocol": listing.protocol,
                "instructions": listing.instructions[:LONGEST_INSTRUCTIONS],
                "tools": {tool.name: tool.annotations for tool in found.tools},
            }
        ),
        "findings": storable(found.findings),
    }


def _description(found: _Found) -> str:
    """Return what the server or its package says of itself in a line."""
    told = found.listing.info.get("description")
    if not told and found.artifact:
        told = found.artifact.manifest.get("description")
    if not told:
        told = found.listing.info.get("title") or found.listing.info.get("name")
    return str(storable(told or ""))[:2000]
