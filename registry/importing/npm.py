"""Import an npm package: install it in the sandbox, read its exports, write its tools."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from config.lib.jsontext import storable
from config.lib.types import JsonObject
from registry.importing.access import require_may_change, status_after_change
from registry.importing.described import described_tool
from registry.importing.errors import NoTools
from registry.importing.matching import Match, match_tools
from registry.importing.rows import locked_package, tool_put, tools_by_export, tools_retire
from registry.manifest import LONGEST_EXPORT, MOST_TOOLS, Manifest, read_manifest
from registry.models import ImportJob, Package, Tool
from registry.models.package import Ecosystem, ReviewStatus
from registry.models.tool import Health, ToolKind, Visibility
from registry.sandbox.client import sandbox
from registry.sandbox.contract import Artifact, Description, DescriptionProblem

_EXPORT = re.compile(rf"[\w$.()-]{{1,{LONGEST_EXPORT}}}")

Stage = Callable[[str], None]
"""Takes what the import is doing now, in words."""


@dataclass(frozen=True, kw_only=True)
class Imported:
    """The package, and one report entry a tool: `{export, tool, status, message}`.

    `status` is added, updated, unchanged, broken or removed; `tool` is the id.
    """

    package: Package
    report: list[JsonObject]


def npm_import(*, name: str, version: str, user: User | None, stage: Stage) -> Imported:
    """Install the package and bring its tools up to date; nothing changes when it fails.

    `version` is a version, a range, a tag or empty for the newest. Raises a DomainError that
    says whether the registry, the sandbox, the package or its manifest is at fault.
    """
    stage(f"Installing {name}@{version or 'latest'} without running its scripts")
    artifact = sandbox().build(ecosystem=Ecosystem.NPM, name=name, version=version or None)
    stage(f"Reading the exports of {artifact.name}@{artifact.version} in the sandbox")
    description = _nameable(sandbox().describe(artifact=artifact.artifact))
    manifest = read_manifest(artifact.manifest)
    matches = match_tools(manifest.tools, description.tools)
    if not matches:
        raise _without_tools(artifact, description)
    stage(f"Saving {len(matches)} tool{'' if len(matches) == 1 else 's'}")
    return _save(artifact, manifest, description, matches, user)


def npm_import_job(job: ImportJob, stage: Stage) -> Imported:
    """Carry out an import job; see `npm_import`."""
    return npm_import(name=job.name, version=job.version, user=job.requested_by, stage=stage)


def _nameable(description: Description) -> Description:
    """Leave out the exports that cannot be rows, each told as a problem."""
    usable = [tool for tool in description.tools if _EXPORT.fullmatch(tool.export)]
    problems = [
        DescriptionProblem(tool.export[:LONGEST_EXPORT], "Its name cannot be used for a tool.")
        for tool in description.tools
        if tool not in usable
    ]
    if len(usable) > MOST_TOOLS:
        told = f"Only the first {MOST_TOOLS} of {len(usable)} tools are imported."
        problems.append(DescriptionProblem(usable[MOST_TOOLS].export, told))
    return Description(
        tools=tuple(usable[:MOST_TOOLS]), problems=(*description.problems, *problems)
    )


@transaction.atomic
def _save(
    artifact: Artifact,
    manifest: Manifest,
    description: Description,
    matches: list[Match],
    user: User | None,
) -> Imported:
    package, made = locked_package(
        ecosystem=Ecosystem.NPM, name=artifact.name, defaults={"added_by": user}
    )
    if not made:
        require_may_change(package, user)
        package.added_by = package.added_by or user  # one that the operator imported
        if package.artifact != artifact.artifact:
            package.review_status = status_after_change(package, user)
    _write_package(package, artifact, manifest, _findings(manifest, description, matches))
    known = tools_by_export(package)
    report = [
        _write_tool(known.get(match.export), package, match, description, user) for match in matches
    ]
    for tool in tools_retire(package, keep={match.export for match in matches}):
        message = f"{package} no longer has it."
        report.append(_entry(tool, "removed", message))
    return Imported(package=package, report=report)


def _write_package(
    package: Package, artifact: Artifact, manifest: Manifest, findings: list[JsonObject]
) -> None:
    package.version = artifact.version
    package.integrity = artifact.integrity
    package.artifact = artifact.artifact
    package.manifest = storable(artifact.manifest)
    package.description = str(package.manifest.get("description") or "")
    package.category = manifest.category
    package.frameworks = list(manifest.frameworks)
    package.env = list(manifest.env)
    package.tier = manifest.tier
    package.findings = storable(findings)
    package.save()


def _write_tool(
    known: Tool | None,
    package: Package,
    match: Match,
    description: Description,
    user: User | None,
) -> JsonObject:
    described = described_tool(match, package, description)
    before = known.version if known and known.deleted_at is None else 0
    values = {
        **described.values,
        "kind": ToolKind.NPM,
        "visibility": Visibility.PUBLIC,
        "import_health": Health.BROKEN if described.error else Health.HEALTHY,
        "health_error": described.error,
        "last_health_check_at": timezone.now(),
    }
    if known is None:  # its package's review decides, until a governor stops this one tool
        values["review_status"] = ReviewStatus.APPROVED
    tool = tool_put(
        known,
        package,
        match.export,
        values,
        name=(package.name, match.export),
        author=user,
        reason=f"Imported {package}",
    )
    if described.error:
        return _entry(tool, "broken", described.error["message"])
    if not before:
        return _entry(tool, "added", match.drift)
    return _entry(tool, "unchanged" if tool.version == before else "updated", match.drift)


def _entry(tool: Tool, status: str, message: str = "") -> JsonObject:
    return {
        "export": tool.export_name,
        "tool": str(tool.pk),
        "status": status,
        "message": message,
    }


def _findings(
    manifest: Manifest, description: Description, matches: list[Match]
) -> list[JsonObject]:
    drifts = [
        {"code": "drift", "path": match.declared.export, "message": match.drift}
        for match in matches
        if match.declared and match.drift
    ]
    undeclared = [
        {
            "code": "undeclared",
            "path": match.export,
            "message": f"“{match.export}” is exported but not declared in the manifest.",
        }
        for match in matches
        if match.declared is None
    ]
    return [
        *({"code": "manifest", **problem} for problem in manifest.problems),
        *drifts,
        *undeclared,
        *(
            {"code": "export", "path": problem.export, "message": problem.message}
            for problem in description.problems
        ),
    ]


def _without_tools(artifact: Artifact, description: Description) -> NoTools:
    problems = [
        {"path": problem.export, "message": problem.message} for problem in description.problems
    ]
    told = f" {problems[0]['path']}: {problems[0]['message']}" if problems else ""
    return NoTools(
        f"{artifact.name}@{artifact.version} neither declares nor exports a tool.{told}",
        problems=problems,
    )
