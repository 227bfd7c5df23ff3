"""Go back to an earlier version of a tool, by publishing what it was as the next one.

A tool of a package is code, so it goes back with its whole package: the artifact that the version
names, and every tool as it was with it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from config.lib.changes import decided
from config.lib.errors import Conflict, NotAllowed, NotFound
from config.lib.types import JsonObject
from registry.authoring import author_for
from registry.errors import ToolError
from registry.importing.checks import CHECKS
from registry.models import Package, Proposal, Tool, ToolVersion
from registry.models.package import Ecosystem, ReviewStatus
from registry.models.proposal import ProposalState
from registry.models.tool import Health
from registry.review.found import package_with
from registry.services import free_wire_name, told_reason, tool_delete, tool_publish
from registry.specs import GOVERNED, TOOL_FIELDS

_PINNED = ("version", "integrity", "artifact", "env")
_DECLARED = ("description", "category", "frameworks", "tier", "manifest", "findings")
"""Fields of a package that versions do not keep; proposals do."""


LONGEST_RESTORE_REASON = 160
"""Characters; the number of the version stands before it."""


class RestoreRefused(Conflict):
    """The tool cannot go back to this version."""

    code = "restore_refused"
    default_hint = "Choose another version, or import the package again in the version you want."


@dataclass(frozen=True, kw_only=True)
class PackageThen:
    """A package as it was: the fields of its row, its tools' versions, and what was not there."""

    package: Package
    values: JsonObject
    versions: list[ToolVersion]
    gone: list[Tool]


def goes_with_package(tool: Tool) -> bool:
    """Say whether a tool goes back with its whole package, as a reviewer decides."""
    return tool.package_id is not None


def may_restore(user: User, tool: Tool) -> bool:
    """Say whether a person may take a tool back: its owner, for tools of packages a reviewer."""
    if goes_with_package(tool):
        return user.has_perm("registry.change_package")
    return tool.owner_id == user.pk


def version_restore(tool: Tool, number: int, *, user: User, reason: str = "") -> Tool:
    """Publish what version `number` was; history is never rewritten.

    Raises NotFound when there is no such version, RestoreRefused when it cannot be gone back to,
    and whatever its author raises when the old definition does not fit any more, because a tool
    that it calls is gone.
    """
    version = _version(tool, number)
    told = told_reason(f"Back to version {number}" + (f": {reason.strip()}" if reason else ""))
    if goes_with_package(tool):
        return _package_restore(version, by=user, reason=told)
    snapshot = version.snapshot
    data = {
        "name": snapshot["title"],
        "description": snapshot["description"],
        "definition": snapshot["definition"],
        "inputSchema": snapshot["input_schema"],
        "reason": told,
    }
    with decided(user, told):
        return author_for(tool.kind).update(user, tool, data)


def package_then(version: ToolVersion) -> PackageThen:
    """Return the package as it was when this version of one of its tools was in use.

    Raises RestoreRefused where that cannot be, or was never approved.
    """
    tool, package = version.tool, version.tool.package
    if package is None or package.ecosystem == Ecosystem.BUILTIN:
        raise RestoreRefused("The built-in tools come with Outfitter and are as they are.")
    if package.review_status != ReviewStatus.APPROVED:
        raise RestoreRefused(f"{package.name} is not approved.", "Decide on the package first.")
    if version.number == tool.version:
        raise RestoreRefused(f"Version {version.number} of {tool.wire_name} is live.")
    if not _is_vouched(version):
        raise RestoreRefused(f"Version {version.number} of {tool.wire_name} was never approved.")
    if package.ecosystem == Ecosystem.OPENAPI:  # a request is all that its tools are
        return PackageThen(package=package, values={}, versions=[version], gone=[])
    said: JsonObject = version.snapshot["package"]
    if not said["artifact"]:
        raise RestoreRefused(
            f"{tool.wire_name} runs at a server, which decides what it does.",
            "Pin the version that your agents know, or ask whoever runs the server.",
        )
    rows = ToolVersion.objects.filter(
        tool__package=package, snapshot__package__artifact=said["artifact"]
    )
    chosen = {
        row.tool_id: row
        for row in rows.select_related("tool").order_by("tool_id", "number")
        if _is_vouched(row)
    }
    chosen[tool.pk] = version
    living = Tool.objects.filter(package=package, deleted_at=None).order_by("export_name", "pk")
    return PackageThen(
        package=package,
        values=_values(package, said),
        versions=sorted(chosen.values(), key=lambda row: row.tool.export_name),
        gone=[other for other in living if other.pk not in chosen],
    )


def _version(tool: Tool, number: int) -> ToolVersion:
    versions = ToolVersion.objects.select_related("tool__package").filter(tool=tool)
    version = versions.filter(number=number).first() if 0 < number < 2**31 else None
    if version is None:
        raise NotFound(
            f"{tool.wire_name} has no version {number}.", "Choose one of the versions listed."
        )
    return version


def _is_vouched(version: ToolVersion) -> bool:
    tool = version.tool
    return version.number not in {*tool.unreviewed_versions, *tool.blocked_versions}


def _values(package: Package, said: JsonObject) -> JsonObject:
    """Return the fields of the row as they were; what was decided about it here stays."""
    values = {name: said.get(name) or type(getattr(package, name))() for name in _PINNED}
    kept = {name: package.settings[name] for name in GOVERNED if name in package.settings}
    values["settings"] = {**(said.get("settings") or {}), **kept}
    return {**_declared(package, said["artifact"]), **values}


def _declared(package: Package, artifact: str) -> JsonObject:
    """Return what the package said of itself then, as far as a proposal tells."""
    known = Proposal.objects.filter(package=package).order_by("-opened_at", "pk")
    approved = Q(after__artifact=artifact, state=ProposalState.APPROVED)
    proposal = known.filter(Q(before__artifact=artifact) | approved).first()
    if proposal is None:
        return {}
    told = proposal.before if proposal.before.get("artifact") == artifact else proposal.after
    return {name: told[name] for name in _DECLARED if name in told}


def _package_restore(version: ToolVersion, *, by: User, reason: str) -> Tool:
    if not may_restore(by, version.tool):
        raise NotAllowed("Only a reviewer takes a package back.", "Ask a reviewer.")
    then = package_then(version)
    wrong = _loaded(then, version.tool.export_name)
    with transaction.atomic(), decided(by, reason):
        _put_back(then, wrong, by, reason)
    return Tool.objects.select_related("package", "owner", "team").get(pk=version.tool_id)


def _loaded(then: PackageThen, wanted: str) -> Mapping[str, ToolError]:
    """Load the package as it was; one that was cleared away is built again, and must be the same.

    Returns export → what is wrong with it. Raises RestoreRefused when the package does not load,
    or the tool that is wanted.
    """
    check = CHECKS.get(then.package.ecosystem)
    if check is None or not then.values:  # nothing is loaded: a request is all that there is
        return {}
    proposed = package_with(then.package, then.values)
    tools = [row.tool for row in then.versions]
    try:
        wrong = check(proposed, tools)
    except ToolError as error:
        raise RestoreRefused(
            f"{proposed} cannot be loaded any more: {error.message}", error.hint
        ) from error
    if problem := wrong.get(wanted):
        raise RestoreRefused(f"“{wanted}” of {proposed} cannot be loaded: {problem.message}")
    return wrong


def _put_back(then: PackageThen, wrong: Mapping[str, ToolError], by: User, reason: str) -> None:
    package = Package.objects.select_for_update().get(pk=then.package.pk)
    for name, value in then.values.items():
        setattr(package, name, value)
    package.save()
    for version in then.versions:
        tool = Tool.objects.select_for_update().get(pk=version.tool_id)
        tool.package = package
        for name in TOOL_FIELDS:
            if name not in _governed(tool):
                setattr(tool, name, version.snapshot.get(name, []))
        if tool.deleted_at is not None:
            tool.wire_name = free_wire_name(package.name, tool.export_name, tool_id=tool.pk)
            tool.deleted_at = None
        if then.values:
            problem = wrong.get(tool.export_name)
            tool.import_health = Health.BROKEN if problem else Health.HEALTHY
            tool.health_error = problem.as_dict() if problem else None
        tool_publish(tool, author=by, reason=reason)
    for tool in then.gone:
        tool_delete(tool)
    LogEntry.objects.log_actions(
        by.pk, [package], CHANGE, change_message=reason, single_object=True
    )


def _governed(tool: Tool) -> set[str]:
    """Return the fields that stay as they are, because a governor decided on them."""
    scopes = {"required_scopes"} if tool.scopes_added or tool.scopes_dropped else set()
    return {*scopes, "timeout_seconds"} if tool.timeout_governed else scopes
