"""Import an npm package: install it in the sandbox, read its exports, write its tools."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from django.contrib.auth.models import User
from django.db import transaction

from config.lib.jsontext import storable
from config.lib.types import JsonObject
from registry.importing.access import require_may_change, status_after_change
from registry.importing.described import described_tool
from registry.importing.errors import CannotBind, NoTools
from registry.importing.matching import Match, match_tools
from registry.importing.rows import (
    locked_package,
    report_entry,
    tool_bring,
    tools_by_export,
    tools_retire,
)
from registry.importing.unseen import unseen_findings
from registry.importing.variables import declared_env, suggestions
from registry.manifest import LONGEST_EXPORT, MOST_TOOLS, Manifest, read_manifest
from registry.models import ImportJob, Package, Tool
from registry.models.package import Ecosystem
from registry.models.tool import ToolKind
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
    stage(f"Saving {artifact.name}@{artifact.version}")
    return _save(artifact, description, user)


def npm_bind(package: Package, bindings: Mapping[str, str], *, user: User | None) -> Imported:
    """Bind declared tools to the exports that a person chose, and bring the tools up to date.

    `bindings` maps declared names to exports; they are kept, so that the next import knows them.
    Raises PackageNotYours, CannotBind and what the sandbox raises.
    """
    require_may_change(package, user)
    description = _nameable(sandbox().describe(artifact=package.artifact))
    _check_bindings(package, description, bindings)
    artifact = Artifact(
        ecosystem=package.ecosystem,
        name=package.name,
        version=package.version,
        integrity=package.integrity,
        artifact=package.artifact,
        manifest=package.manifest,
        size_bytes=0,
    )
    told = ", ".join(f"“{name}” is the export “{export}”" for name, export in bindings.items())
    return _save(artifact, description, user, bindings=bindings, reason=f"Bound: {told}")


def _check_bindings(
    package: Package, description: Description, bindings: Mapping[str, str]
) -> None:
    declared = {tool.export for tool in read_manifest(package.manifest).tools}
    exports = {name for tool in description.tools for name in (tool.export, *tool.aliases)}
    for name, export in bindings.items():
        if name not in declared:
            raise CannotBind(f"{package} declares no tool “{name}”.")
        if name in exports:
            raise CannotBind(f"“{name}” is exported under its own name; nothing is to be mended.")
        if export not in exports:
            raise CannotBind(f"{package} has no export “{export}”.")


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
    return replace(
        description,
        tools=tuple(usable[:MOST_TOOLS]),
        problems=(*description.problems, *problems),
    )


@transaction.atomic
def _save(
    artifact: Artifact,
    description: Description,
    user: User | None,
    *,
    bindings: Mapping[str, str] | None = None,
    reason: str = "",
) -> Imported:
    manifest = read_manifest(artifact.manifest)
    package, made = locked_package(
        ecosystem=Ecosystem.NPM, name=artifact.name, defaults={"added_by": user}
    )
    if not made:
        require_may_change(package, user)
        package.added_by = package.added_by or user  # one that the operator imported
        if package.artifact != artifact.artifact:
            package.review_status = status_after_change(package, user)
    if bindings:
        decided = {**package.settings.get("bindings", {}), **bindings}
        if decided != package.settings.get("bindings"):  # other code runs under an approved name
            package.review_status = status_after_change(package, user)
        package.settings = {**package.settings, "bindings": decided}
    matches = match_tools(manifest.tools, description.tools, package.settings.get("bindings"))
    if not matches:
        raise _without_tools(artifact, description)
    env = declared_env(manifest.env, package.settings.get("env", ()))
    found = [
        *_findings(manifest, description, matches),
        *unseen_findings(description.tools),
        *suggestions(description.env, env),
    ]
    _write_package(package, artifact, manifest, env, found)
    known = tools_by_export(package)
    report = [
        _write_tool(_known(known, match), package, match, description, user, reason)
        for match in matches
    ]
    for tool in tools_retire(package, keep={match.export for match in matches}):
        message = f"{package} no longer has it."
        report.append(report_entry(tool, "removed", message))
    return Imported(package=package, report=report)


def _write_package(
    package: Package,
    artifact: Artifact,
    manifest: Manifest,
    env: list[JsonObject],
    findings: list[JsonObject],
) -> None:
    package.version = artifact.version
    package.integrity = artifact.integrity
    package.artifact = artifact.artifact
    package.manifest = storable(artifact.manifest)
    package.description = str(package.manifest.get("description") or "")
    package.category = manifest.category
    package.frameworks = list(manifest.frameworks)
    package.env = env
    package.tier = manifest.tier
    package.findings = storable(findings)
    package.save()


def _known(known: dict[str, Tool], match: Match) -> Tool | None:
    """Return the row of a tool: that of its export, else the one that stood for what is declared.

    So a tool that drifted keeps its id, its name and its history when it is bound.
    """
    row = known.get(match.export)
    return known.get(match.declared.export) if row is None and match.declared else row


def _write_tool(
    known: Tool | None,
    package: Package,
    match: Match,
    description: Description,
    user: User | None,
    reason: str,
) -> JsonObject:
    described = described_tool(match, package, description)
    values = {**described.values, "kind": ToolKind.NPM, "health_error": described.error}
    return tool_bring(
        known, package, match.export, values, author=user, reason=reason, note=match.drift
    )


def _findings(
    manifest: Manifest, description: Description, matches: list[Match]
) -> list[JsonObject]:
    drifts = [
        {
            "code": "drift",
            "path": match.declared.export,
            "message": match.drift,
            "candidates": list(match.candidates),
        }
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
