"""Bring the chosen operations of an OpenAPI document into the registry as HTTP tools."""

import json
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from config.lib.jsontext import storable
from config.lib.types import JsonObject
from registry.api_definition import variables_of
from registry.importing.access import require_may_change, reviews_packages
from registry.importing.errors import NoTools, UnknownSelection
from registry.importing.npm import Imported, Stage
from registry.importing.openapi.conformance import deviations
from registry.importing.openapi.operations import Built, Catalogue, Operation, chosen
from registry.importing.openapi.references import CannotTakeError
from registry.importing.openapi.servers import host_pattern, servers_of
from registry.importing.openapi_documents import (
    document_by_digest,
    document_fetch,
    document_keep,
)
from registry.importing.openapi_requests import ALL
from registry.importing.rows import locked_package, package_bring
from registry.models import ApiDocument, ImportJob, Package
from registry.models.package import Ecosystem, ReviewStatus, Tier
from registry.models.proposal import Cause
from registry.models.tool import ToolKind
from registry.review.found import FoundPackage, FoundTool
from registry.review.staging import package_propose
from registry.services import MOST_HOSTS, package_allow_hosts

TOLD_EVERY = 100
"""Operations between two stages that a job tells."""

SEEN = "A check saw another document"

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
    if not made:
        require_may_change(package, user)
    hosts = _hosts(package, read)
    values = _package_values(read)
    if package.review_status == ReviewStatus.APPROVED and user is not None:
        values["allowed_hosts"] = hosts  # who approves it allows them
    else:
        _allow_hosts(package, hosts, user)
    brought = package_bring(package, _found(read, values), made=made, user=user)
    report = brought[: len(read.tools)]
    report += [_refused(operation, error) for operation, error in read.refused]
    for entry in read.gone:
        report.append(_line(entry, "missing", "The document does not have it (any more)."))
    return Imported(package=package, report=[*report, *brought[len(read.tools) :]])


def document_seen(package: Package, content: JsonObject) -> None:
    """Propose what an approved API's document says now, where that is something else.

    Raises a DomainError where nothing of it can be a tool.
    """
    if package.review_status != ReviewStatus.APPROVED:
        return
    document = document_keep(content, user=package.added_by, url=package.settings["url"])
    read = _read(package.name, document, _chosen(package), _ignore)
    if not read.tools:
        return
    with transaction.atomic():
        package = Package.objects.select_for_update().get(pk=package.pk)
        if package.review_status != ReviewStatus.APPROVED:
            return
        values = {**_package_values(read), "allowed_hosts": _hosts(package, read)}
        found = _found(read, values)
        package_propose(package, found, by=None, cause=Cause.CHECK, reason=SEEN)


def _chosen(package: Package) -> JsonObject:
    """Return what was chosen of the document; without a server of its own, the document's."""
    return {name: package.settings[name] for name in ("server", "selection")}


def _ignore(_: str) -> None:
    """Drop what is told of a reading that nobody waits for."""


def _found(read: _Read, values: JsonObject) -> FoundPackage:
    return FoundPackage(
        values=values,
        tools=[_found_tool(tool) for tool in read.tools],
        gone={operation.key: "It cannot be a tool any more." for operation, _ in read.refused},
        otherwise_gone="It is not chosen any more, or no longer in the document.",
    )


def _package_values(read: _Read) -> JsonObject:
    info, document = read.content["info"], read.document
    told = info.get("summary") or info.get("description") or info["title"]
    source = {"url": document.url, "file": document.filename}
    return {
        "version": str(info.get("version") or "")[:LONGEST_VERSION],
        "description": str(told).strip()[:LONGEST_DESCRIPTION],
        "env": list(read.variables.values()),
        "tier": Tier.RICH,
        "settings": {
            **{key: value for key, value in source.items() if value},
            "digest": document.digest,
            "server": read.settings["server"],
            "selection": read.settings["selection"],
        },
        "manifest": storable(
            {
                "openapi": read.content["openapi"],
                "info": info,
                "servers": read.servers,
                "hosts": read.hosts,
            }
        ),
        "findings": storable(read.findings),
    }


def _hosts(package: Package, read: _Read) -> list[str]:
    """Return the hosts that may be reached, with those that the document names for the first time.

    One that a reviewer has taken away does not come back.
    """
    known = {*package.allowed_hosts, *package.manifest.get("hosts", [])}
    return [*package.allowed_hosts, *(host for host in read.hosts if host not in known)][
        :MOST_HOSTS
    ]


def _allow_hosts(package: Package, hosts: list[str], user: User | None) -> None:
    """Let the tools reach the document's servers where who imports it decides on that anyway."""
    if hosts == package.allowed_hosts or (user is not None and not reviews_packages(user)):
        return
    if user is None:
        package.allowed_hosts = hosts
        package.save(update_fields=["allowed_hosts", "updated_at"])
    else:
        package_allow_hosts(package, hosts, by=user, reason="Imported by a reviewer.")


def _found_tool(built: Built) -> FoundTool:
    operation = built.operation
    return FoundTool(
        export=operation.key,
        name=operation.name,
        values={
            "kind": ToolKind.API,
            "title": operation.title,
            "description": built.description,
            "category": operation.tag,
            "input_schema": storable(built.input_schema),
            "output_schema": storable(built.output_schema),
            "definition": storable(built.definition),
        },
        first={"timeout_seconds": built.definition["timeoutSeconds"]},
        note=" ".join(built.notes),
    )


def _refused(operation: Operation, error: CannotTakeError) -> JsonObject:
    return _line(operation.key, "refused", f"{error.why} ({error.path})")


def _line(export: str, status: str, message: str = "") -> JsonObject:
    return {"export": export, "status": status, "message": message}


def _reasons(read: _Read) -> str:
    return "; ".join(f"{operation.key}: {error.why}" for operation, error in read.refused[:3])
