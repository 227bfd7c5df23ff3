"""Import an npm package: install it in the sandbox, read its exports, write its tools."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from django.contrib.auth.models import User
from django.db import transaction

from config.lib.jsontext import storable
from config.lib.types import JsonObject
from registry.importing.access import require_may_change
from registry.importing.advised import Advised, advised_of
from registry.importing.described import described_tool
from registry.importing.errors import CannotBind, NoTools
from registry.importing.matching import Match, match_tools
from registry.importing.rows import locked_package, package_bring
from registry.importing.unseen import unseen_findings
from registry.importing.variables import declared_env, suggestions
from registry.manifest import LONGEST_EXPORT, MOST_TOOLS, Manifest, read_manifest
from registry.models import ImportJob, Package
from registry.models.package import Ecosystem
from registry.models.proposal import Cause
from registry.models.tool import ToolKind
from registry.review.found import FoundPackage, FoundTool, package_with
from registry.review.proposed import package_as_proposed
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


def npm_import(
    *,
    name: str,
    version: str,
    user: User | None,
    stage: Stage,
    cause: Cause = Cause.IMPORT,
) -> Imported:
    """Install the package and bring its tools up to date; nothing changes when it fails.

    `version` is a version, a range, a tag or empty for the newest. Raises a DomainError that
    says whether the registry, the sandbox, the package or its manifest is at fault.
    """
    stage(f"Installing {name}@{version or 'latest'} without running its scripts")
    artifact = sandbox().build(ecosystem=Ecosystem.NPM, name=name, version=version or None)
    stage(f"Reading the exports of {artifact.name}@{artifact.version} in the sandbox")
    description = _nameable(sandbox().describe(artifact=artifact.artifact))
    stage(f"Asking what is known against {artifact.name}@{artifact.version}")
    advised = advised_of(artifact.artifact)
    stage(f"Saving {artifact.name}@{artifact.version}")
    return _save(artifact, description, user, advised=advised, cause=cause)


def npm_bind(package: Package, bindings: Mapping[str, str], *, user: User | None) -> Imported:
    """Bind declared tools to the exports that a person chose, and bring the tools up to date.

    `bindings` maps declared names to exports; they are kept, so that the next import knows them.
    Raises PackageNotYours, CannotBind and what the sandbox raises.
    """
    require_may_change(package, user)
    package = package_as_proposed(package)
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
    advised = advised_of(artifact.artifact)
    return _save(
        artifact, description, user, advised=advised, bindings=bindings, reason=f"Bound: {told}"
    )


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
    return npm_import(
        name=job.name,
        version=job.version,
        user=job.requested_by,
        stage=stage,
        cause=Cause(job.cause),
    )


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
    advised: Advised,
    bindings: Mapping[str, str] | None = None,
    cause: Cause = Cause.IMPORT,
    reason: str = "",
) -> Imported:
    package, made = locked_package(
        ecosystem=Ecosystem.NPM, name=artifact.name, defaults={"added_by": user}
    )
    found = _found(package, artifact, description, bindings or {}, advised)
    report = package_bring(package, found, made=made, user=user, cause=cause, reason=reason)
    return Imported(package=package, report=report)


def _found(
    package: Package,
    artifact: Artifact,
    description: Description,
    bindings: Mapping[str, str],
    advised: Advised,
) -> FoundPackage:
    manifest = read_manifest(artifact.manifest)
    settings = package_as_proposed(package).settings
    if bindings:
        settings = {**settings, "bindings": {**settings.get("bindings", {}), **bindings}}
    matches = match_tools(manifest.tools, description.tools, settings.get("bindings"))
    if not matches:
        raise _without_tools(artifact, description)
    env = declared_env(manifest.env, settings.get("env", ()))
    findings = [
        *_findings(manifest, description, matches),
        *unseen_findings(description.tools),
        *suggestions(description.env, env),
        *advised.findings,
    ]
    values = {
        "version": artifact.version,
        "integrity": artifact.integrity,
        "artifact": artifact.artifact,
        "manifest": (kept := storable(artifact.manifest)),
        "description": str(kept.get("description") or ""),
        "category": manifest.category,
        "frameworks": list(manifest.frameworks),
        "env": env,
        "settings": settings,
        "tier": manifest.tier,
        "findings": storable(findings),
    }
    proposed = package_with(package, values)
    tools = [_found_tool(match, proposed, description) for match in matches]
    return FoundPackage(values=values, tools=tools, notes=advised.notes)


def _found_tool(match: Match, proposed: Package, description: Description) -> FoundTool:
    described = described_tool(match, proposed, description)
    return FoundTool(
        export=match.export,
        # One that drifted keeps its id, its name and its history when it is bound.
        known_as=match.declared.export if match.declared else "",
        values={**described.values, "kind": ToolKind.NPM},
        error=described.error,
        note=match.drift,
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
