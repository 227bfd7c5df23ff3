"""Import a Python package or a local module: build it, ask it for its tools, write them."""

import re

from django.db import transaction

from config.lib.jsontext import storable
from config.lib.types import JsonObject
from registry.importing.described import described_tool
from registry.importing.errors import NoTools
from registry.importing.matching import Match
from registry.importing.npm import Imported, Stage
from registry.importing.rows import locked_package, package_bring
from registry.importing.unseen import unseen_findings
from registry.importing.uploads import check_syntax, upload_of
from registry.importing.variables import suggestions
from registry.manifest import LONGEST_EXPORT, MOST_TOOLS
from registry.models import ImportJob, Package
from registry.models.package import Ecosystem, ReviewStatus, Tier
from registry.models.proposal import Cause
from registry.models.tool import ToolKind
from registry.python_options import declared_env, guest_options, package_env, stand_ins
from registry.review.found import FoundPackage, FoundTool, package_with
from registry.review.staging import package_propose
from registry.sandbox.client import sandbox
from registry.sandbox.contract import Artifact, Description, ToolDescription

NOT_OFFERED = "not_offered"
"""Code of the finding that a tool does not offer itself with the present settings, and why."""

LONGEST_LABEL = 64
NO_TOOLS_HINT = (
    "A tool is a DynamicTool class, a LangChain tool, or a public function whose parameters have "
    "types. Where a package has them elsewhere than in its main module, name the module."
)
_EXPORT = re.compile(rf"[^\x00-\x1f]{{1,{LONGEST_EXPORT}}}")


def python_import(job: ImportJob, stage: Stage) -> Imported:
    """Install what a job names and bring its tools up to date; nothing changes when it fails.

    Raises a DomainError that says whether the index, the sandbox or the package is at fault.
    """
    if job.ecosystem == Ecosystem.UPLOAD:
        _send_upload(job, stage)
    elif job.ecosystem == Ecosystem.LOCAL:
        stage(f"Copying the module {job.name}, without running its code")
    else:
        what = f"{job.name} {job.version}".strip()
        stage(f"Installing {what} from wheels, without running its code")
    artifact = sandbox().build(ecosystem=job.ecosystem, name=job.name, version=job.version or None)
    env = package_env(job.settings, declared_env(artifact.manifest))
    stage(f"Reading the tools of {artifact.name} {artifact.version} in the sandbox")
    description = describe_python(artifact.artifact, job.settings, env)
    usable = _usable(description)
    if not usable and not description.unavailable:
        raise _without_tools(artifact, description)
    stage(f"Saving {len(usable)} tool{'' if len(usable) == 1 else 's'}")
    return _save(job, artifact, env, description, usable)


def _send_upload(job: ImportJob, stage: Stage) -> None:
    """Check an uploaded module and hand it to the sandbox, which may be on another disk."""
    # Who asked was checked then; somebody else may have sent the same module first.
    upload = upload_of(job.name, job.version, job.package, None)
    stage(f"Reading {upload.filename}, without running its code")
    check_syntax(upload)
    stage(f"Installing what {job.name} requires")
    sandbox().put(digest=upload.digest, files=upload.files)


def describe_python(artifact: str, settings: JsonObject, env: list[JsonObject]) -> Description:
    """Ask a built package for its tools, under its settings and without anybody's secrets."""
    names = [item["name"] for item in env]
    return sandbox().describe(
        artifact=artifact, options=guest_options(settings, names), env=stand_ins(settings, env)
    )


@transaction.atomic
def _save(
    job: ImportJob,
    artifact: Artifact,
    env: list[JsonObject],
    description: Description,
    usable: list[ToolDescription],
) -> Imported:
    user = job.requested_by
    package, made = locked_package(
        ecosystem=job.ecosystem, name=artifact.name, defaults={"added_by": user}
    )
    found = _found(package, artifact, job.settings, env, description, usable)
    report = package_bring(package, found, made=made, user=user, cause=Cause(job.cause))
    return Imported(package=package, report=report)


def _found(
    package: Package,
    artifact: Artifact,
    settings: JsonObject,
    env: list[JsonObject],
    description: Description,
    usable: list[ToolDescription],
) -> FoundPackage:
    findings = [*_findings(description, usable), *suggestions(description.env, env)]
    values = _values(artifact, settings, env, findings)
    proposed = package_with(package, values)
    return FoundPackage(
        values=values,
        tools=[_found_tool(proposed, tool, description) for tool in usable],
        gone={item.export: item.reason for item in description.unavailable},
    )


def local_changed(package: Package, artifact: Artifact) -> None:
    """Propose an approved local module as its files are now; what was approved stays in use."""
    env = package_env(package.settings, declared_env(artifact.manifest))
    description = describe_python(artifact.artifact, package.settings, env)
    usable = _usable(description)
    if not usable:
        return
    with transaction.atomic():
        package = Package.objects.select_for_update().get(pk=package.pk)
        if package.review_status == ReviewStatus.APPROVED:
            found = _found(package, artifact, package.settings, env, description, usable)
            package_propose(
                package, found, by=None, cause=Cause.CHECK, reason="A check saw other files"
            )


def _usable(description: Description) -> list[ToolDescription]:
    return [tool for tool in description.tools if _EXPORT.fullmatch(tool.export)][:MOST_TOOLS]


def _values(
    artifact: Artifact, settings: JsonObject, env: list[JsonObject], findings: list[JsonObject]
) -> JsonObject:
    manifest = storable(artifact.manifest)
    own = manifest.get("outfitter") or {}
    return {
        "version": artifact.version,
        "integrity": artifact.integrity,
        "artifact": artifact.artifact,
        "manifest": manifest,
        "settings": storable(settings),
        "description": str(manifest.get("description") or ""),
        "category": str(own.get("category") or "")[:LONGEST_LABEL],
        "env": env,
        "tier": Tier.RICH if own else Tier.MINIMAL,
        "findings": storable(findings),
    }


def _found_tool(proposed: Package, offered: ToolDescription, description: Description) -> FoundTool:
    described = described_tool(Match(declared=None, exported=offered), proposed, description)
    return FoundTool(
        export=offered.export,
        values={
            **described.values,
            "kind": ToolKind.PYTHON,
            "required_scopes": [storable(scope)[:100] for scope in offered.required_scopes],
            "raw_string_args": [storable(name)[:100] for name in offered.raw_string_args],
        },
        error=described.error,
    )


def _findings(description: Description, usable: list[ToolDescription]) -> list[JsonObject]:
    left_out = len(description.tools) - len(usable)
    told = f"{left_out} tools are left out: their names cannot be used, or there are too many."
    return [
        *(
            {"code": NOT_OFFERED, "path": item.export, "message": item.reason}
            for item in description.unavailable
        ),
        *(
            {"code": "export", "path": problem.export, "message": problem.message}
            for problem in description.problems
        ),
        *([{"code": "export", "path": "tools", "message": told}] if left_out else []),
        *unseen_findings(usable),
    ]


def _without_tools(artifact: Artifact, description: Description) -> NoTools:
    problems = [
        {"path": problem.export, "message": problem.message} for problem in description.problems
    ]
    told = f" {problems[0]['path']}: {problems[0]['message']}" if problems else ""
    return NoTools(
        f"{artifact.name} {artifact.version} has no tool.{told}", NO_TOOLS_HINT, problems=problems
    )
