"""Bring the chosen operations of an OpenAPI document into the registry as HTTP tools."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from config.lib.jsontext import storable
from config.lib.types import JsonObject
from registry.api_definition import variables_of
from registry.importing.access import require_may_change, reviews_packages, status_after_change
from registry.importing.errors import NoTools, UnknownSelection
from registry.importing.npm import Imported, Stage
from registry.importing.openapi.conformance import deviations
from registry.importing.openapi.operations import Built, Catalogue, Operation, chosen
from registry.importing.openapi.references import CannotTakeError
from registry.importing.openapi.servers import host_pattern, servers_of
from registry.importing.openapi_documents import document_by_digest, document_fetch
from registry.importing.openapi_requests import ALL
from registry.importing.rows import locked_package, tool_put, tools_by_export, tools_retire
from registry.models import ApiDocument, ImportJob, Package, Tool
from registry.models.package import Ecosystem, ReviewStatus, Tier
from registry.models.tool import Health, ToolKind, Visibility
from registry.schemas import canonical_digest
from registry.services import MOST_HOSTS, package_allow_hosts

TOLD_EVERY = 100
"""Operations between two stages that a job tells."""

LONGEST_VERSION = 64
LONGEST_DESCRIPTION = 2_000


@dataclass(frozen=True, kw_only=True)
class _Read:
    """All that a document gave, before its rows are written."""

    name: str
    document: ApiDocument
    content: JsonObject
    settings: JsonObject
    servers: list[str]
    variables: dict[str, JsonObject]
    tools: list[Built]
    refused: list[tuple[Operation, CannotTakeError]]
    gone: list[str]
    findings: list[JsonObject]

    @property
    def hosts(self) -> list[str]:
        """Return the hosts that the tools ask, as patterns of allowed hosts."""
        return list(dict.fromkeys(host_pattern(tool.server) for tool in self.tools))[:MOST_HOSTS]


def openapi_import(job: ImportJob, stage: Stage) -> Imported:
    """Read the document that a job names and bring its package up to date.

    Nothing changes when it fails. Raises a DomainError.
    """
    settings = job.settings
    if settings.get("digest"):
        document = document_by_digest(settings["digest"])
    else:
        stage(f"Fetching {settings['url']}")
        document = document_fetch(settings["url"], user=job.requested_by)
    read = _read(job.name, document, settings, stage)
    if not read.tools:
        raise NoTools(
            f"None of the chosen operations can be a tool: {_reasons(read)}",
            "Choose others, give the server its full address, or correct the document.",
            problems=[{"path": e.path, "message": e.why} for _, e in read.refused[:50]],
        )
    stage(f"Saving {len(read.tools)} tool{'' if len(read.tools) == 1 else 's'}")
    return _save(read, job.requested_by)


def _read(name: str, document: ApiDocument, settings: JsonObject, stage: Stage) -> _Read:
    content = json.loads(document.content)
    servers = [address for address, _ in servers_of(content, document.url)]
    server = settings.get("server") or servers[0]
    catalogue = Catalogue(content, package=name, server=server, source=document.url)
    selection = settings["selection"]
    wanted, gone = chosen(catalogue.operations, None if selection == ALL else selection)
    if not wanted:
        known = ", ".join(operation.key for operation in catalogue.operations[:5])
        raise UnknownSelection(
            f"The document has none of the chosen operations: {', '.join(gone)[:300]}.",
            f"It has, for example: {known}.",
        )
    tools: list[Built] = []
    refused: list[tuple[Operation, CannotTakeError]] = []
    for number, operation in enumerate(wanted):
        if number % TOLD_EVERY == 0:
            stage(f"Reading operation {number + 1} of {len(wanted)}")
        try:
            tools.append(catalogue.build(operation))
        except CannotTakeError as error:
            refused.append((operation, error))
    used = {name for tool in tools for name in variables_of(tool.definition)}
    declared = catalogue.security.variables
    return _Read(
        name=name,
        document=document,
        content=content,
        settings={**settings, "server": server},
        servers=servers,
        variables={name: told for name, told in declared.items() if name in used},
        tools=tools,
        refused=refused,
        gone=gone,
        findings=[
            {"code": "openapi", "path": problem.path, "message": problem.message}
            for problem in deviations(content, wanted)
        ],
    )


@transaction.atomic
def _save(read: _Read, user: User | None) -> Imported:
    package, made = locked_package(
        ecosystem=Ecosystem.OPENAPI, name=read.name, defaults={"added_by": user}
    )
    before = _identity(package)
    if not made:
        require_may_change(package, user)
        package.added_by = package.added_by or user
    hosts_before = package.manifest.get("hosts", [])
    _write_package(package, read)
    known = tools_by_export(package)
    if not made and _identity_of(package, read.tools) != before:
        package.review_status = status_after_change(package, user)
    package.save()
    _allow_hosts(package, [host for host in read.hosts if host not in hosts_before], user)
    report = [
        _write_tool(known.get(tool.operation.key), package, tool, user) for tool in read.tools
    ]
    report += [_refused(operation, error) for operation, error in read.refused]
    for entry in read.gone:
        report.append(_line(entry, "missing", "The document does not have it (any more)."))
    keep = {tool.operation.key for tool in read.tools}
    for gone in tools_retire(package, keep=keep):
        report.append(
            {**_line(gone.export_name, "removed", _removal(gone, read)), "tool": str(gone.pk)}
        )
    return Imported(package=package, report=report)


def _write_package(package: Package, read: _Read) -> None:
    info, document = read.content["info"], read.document
    package.version = str(info.get("version") or "")[:LONGEST_VERSION]
    told = info.get("summary") or info.get("description") or info["title"]
    package.description = str(told).strip()[:LONGEST_DESCRIPTION]
    package.env = list(read.variables.values())
    package.tier = Tier.RICH
    package.settings = {
        **{
            key: value
            for key, value in (("url", document.url), ("file", document.filename))
            if value
        },
        "digest": document.digest,
        "server": read.settings["server"],
        "selection": read.settings["selection"],
    }
    package.manifest = storable(
        {
            "openapi": read.content["openapi"],
            "info": info,
            "servers": read.servers,
            "hosts": read.hosts,
        }
    )
    package.findings = storable(read.findings)


def _allow_hosts(package: Package, new: Sequence[str], user: User | None) -> None:
    """Let the tools reach the document's servers where who imports it decides on that anyway."""
    missing = [host for host in new if host not in package.allowed_hosts]
    if not missing or (user is not None and not reviews_packages(user)):
        return
    hosts = [*package.allowed_hosts, *missing][:MOST_HOSTS]
    if user is None:
        package.allowed_hosts = hosts
        package.save(update_fields=["allowed_hosts", "updated_at"])
    else:
        package_allow_hosts(package, hosts, by=user, reason="Imported by a reviewer.")


def _identity(package: Package) -> str:
    """Return a digest of what was approved: what every tool asks, takes and says of itself."""
    tools = Tool.objects.filter(package=package, deleted_at=None)
    return _digest(
        package,
        {
            tool.export_name: [tool.description, tool.input_schema, tool.definition]
            for tool in tools
        },
    )


def _identity_of(package: Package, tools: Sequence[Built]) -> str:
    return _digest(
        package,
        {
            tool.operation.key: [tool.description, tool.input_schema, tool.definition]
            for tool in tools
        },
    )


def _digest(package: Package, tools: JsonObject) -> str:
    return canonical_digest([package.env, package.manifest.get("hosts", []), storable(tools)])


def _write_tool(
    known: Tool | None, package: Package, built: Built, user: User | None
) -> JsonObject:
    before = known.version if known and known.deleted_at is None else 0
    operation = built.operation
    values: JsonObject = {
        "kind": ToolKind.API,
        "title": operation.title,
        "description": built.description,
        "category": operation.tag,
        "input_schema": storable(built.input_schema),
        "output_schema": storable(built.output_schema),
        "definition": storable(built.definition),
        "visibility": Visibility.PUBLIC,
        "import_health": Health.HEALTHY,
        "health_error": None,
    }
    if known is None:  # its package's review decides, until a governor stops this one tool
        values["review_status"] = ReviewStatus.APPROVED
        values["timeout_seconds"] = built.definition["timeoutSeconds"]
    tool = tool_put(
        known,
        package,
        operation.key,
        values,
        name=(package.name, operation.name),
        author=user,
        reason=f"Imported {package}"[:200],
    )
    done = "added" if not before else "unchanged" if tool.version == before else "updated"
    return {**_line(operation.key, done, " ".join(built.notes)), "tool": str(tool.pk)}


def _refused(operation: Operation, error: CannotTakeError) -> JsonObject:
    return _line(operation.key, "refused", f"{error.why} ({error.path})")


def _removal(tool: Tool, read: _Read) -> str:
    if any(operation.key == tool.export_name for operation, _ in read.refused):
        return "It cannot be a tool any more."
    return "It is not chosen any more, or no longer in the document."


def _line(export: str, status: str, message: str = "") -> JsonObject:
    return {"export": export, "status": status, "message": message}


def _reasons(read: _Read) -> str:
    return "; ".join(f"{operation.key}: {error.why}" for operation, error in read.refused[:3])
