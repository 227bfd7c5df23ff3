"""Bring what an import found into the registry: written at once, or proposed beside what is live.

This is the one place that decides which. New and unapproved packages are written at once and wait
for review as they are. What would change of an approved one is proposed, but for the operator at
the command line, who applies it; that is kept among the decisions.
"""

from django.contrib.auth.models import User
from django.utils import timezone

from config.lib.changes import decided
from config.lib.types import JsonObject
from registry.importing.access import require_may_change
from registry.models import Package, Proposal, Tool
from registry.models.package import ReviewStatus
from registry.models.proposal import Cause, ProposalState
from registry.models.tool import ExecutionHealth, Health, Visibility
from registry.review.applied import applied_record, live_of
from registry.review.found import FoundPackage, FoundTool
from registry.review.opening import proposal_open_of, proposal_supersede
from registry.review.rows import tool_put, tools_by_export, tools_retire
from registry.review.staging import package_announce, package_propose


def locked_package(*, ecosystem: str, name: str, defaults: JsonObject) -> tuple[Package, bool]:
    """Return the package, made if need be and whether it was, locked until the transaction ends.

    Two imports of one package at the same time wait for each other here.
    """
    package, made = Package.objects.get_or_create(ecosystem=ecosystem, name=name, defaults=defaults)
    return Package.objects.select_for_update().get(pk=package.pk), made


def package_bring(
    package: Package,
    found: FoundPackage,
    *,
    made: bool,
    user: User | None,
    cause: Cause = Cause.IMPORT,
    reason: str = "",
) -> list[JsonObject]:
    """Write or propose what was found of a locked package; return an entry of the report a tool.

    Raises PackageNotYours where it is here already and somebody else's.
    """
    if not made:
        require_may_change(package, user)
        if package.added_by is None and user is not None:  # one that the operator imported
            package.added_by = user
            package.save(update_fields=["added_by", "updated_at"])
    applies = user is None and cause in (Cause.IMPORT, Cause.EDIT)
    with decided(user, reason):
        if package.review_status == ReviewStatus.APPROVED and not made and not applies:
            proposal = package_propose(package, found, by=user, cause=cause, reason=reason)
            if proposal is not None:
                return _proposed(package, found, proposal)
        if package.review_status != ReviewStatus.APPROVED or made or not applies:
            return _write(package, found, user, cause, reason)
        before = live_of(package)
        report = _write(package, found, user, cause, reason)
        applied_record(package, before, cause=cause)
        return report


def _write(
    package: Package, found: FoundPackage, user: User | None, cause: Cause, reason: str
) -> list[JsonObject]:
    for name, value in found.values.items():
        setattr(package, name, value)
    package.save()
    told = (reason or f"Imported {package}")[:200]
    known = tools_by_export(package)
    report = [_write_tool(package, known, tool, user, told) for tool in found.tools]
    for gone in tools_retire(package, keep={tool.export for tool in found.tools}):
        report.append(report_entry(gone, "removed", _why_gone(gone, package, found)))
    if package.review_status != ReviewStatus.APPROVED:
        package_announce(package, by=user, cause=cause, notes=found.notes)
    elif waiting := proposal_open_of(package):
        proposal_supersede(waiting)
    return report


def _write_tool(
    package: Package, known: dict[str, Tool], found: FoundTool, user: User | None, reason: str
) -> JsonObject:
    tool = known.get(found.export) or known.get(found.known_as)
    before = tool.version if tool and tool.deleted_at is None else 0
    values = {**({} if tool else found.first), **found.values, **_health(found)}
    values["visibility"] = Visibility.PUBLIC
    if tool and tool.execution_health == ExecutionHealth.NEEDS_KEY:  # it may read more now
        values |= {"execution_health": ExecutionHealth.UNKNOWN, "health_error": found.error}
    if tool is None or tool.review_status == ReviewStatus.CANDIDATE:
        # Its package's review decides, until a governor stops this one tool.
        values["review_status"] = ReviewStatus.APPROVED
    name = (package.name, found.name or found.export)
    tool = tool_put(tool, package, found.export, values, name=name, author=user, reason=reason)
    if found.error:
        return report_entry(tool, "broken", found.error["message"])
    if not before:
        return report_entry(tool, "added", found.note)
    return report_entry(tool, "unchanged" if tool.version == before else "updated", found.note)


def _proposed(package: Package, found: FoundPackage, proposal: Proposal) -> list[JsonObject]:
    known = tools_by_export(package)
    staged = {entry["export"]: entry for entry in proposal.versions}
    report = [
        _told(staged[tool.export], tool, proposal)
        if tool.export in staged
        else report_entry(known.get(tool.export) or known[tool.known_as], "unchanged", tool.note)
        for tool in found.tools
    ]
    for gone in Tool.objects.filter(pk__in=proposal.removed).order_by("export_name"):
        report.append(report_entry(gone, "proposed", f"To go: {_why_gone(gone, package, found)}"))
    return report


def _told(entry: JsonObject, found: FoundTool, proposal: Proposal) -> JsonObject:
    if proposal.state != ProposalState.OPEN:
        message = f"Just this was {proposal.state} before; what was in use before stays."
        status = "rejected"
    else:
        message = found.error["message"] if found.error else found.note
        status = "proposed"
    return {
        "export": found.export,
        "tool": entry["tool"],
        "status": status,
        "message": message,
        "version": entry["number"],
    }


def _health(found: FoundTool) -> JsonObject:
    if not found.is_checked:
        return {}
    return {
        "import_health": Health.BROKEN if found.error else Health.HEALTHY,
        "health_error": found.error,
        "last_health_check_at": timezone.now(),
    }


def _why_gone(tool: Tool, package: Package, found: FoundPackage) -> str:
    return (
        found.gone.get(tool.export_name) or found.otherwise_gone or f"{package} no longer has it."
    )


def report_entry(tool: Tool, status: str, message: str = "") -> JsonObject:
    """Return what an import's report says of one tool."""
    return {
        "export": tool.export_name,
        "tool": str(tool.pk),
        "status": status,
        "message": message,
    }
