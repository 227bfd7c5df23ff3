"""Make what was approved the live one."""

from uuid import UUID

from django.contrib.auth.models import User
from django.utils import timezone

from config.lib.types import JsonObject
from registry.models import Package, Proposal, Tool, ToolVersion
from registry.models.package import ReviewStatus
from registry.models.tool import ExecutionHealth, Health
from registry.quality.scoring import quality_at_publish
from registry.review.found import PACKAGE_FIELDS
from registry.schemas import canonical_digest
from registry.scopes import scopes_merged
from registry.services import free_wire_name, package_allow_hosts, tool_delete, tool_publish
from registry.specs import TOOL_FIELDS, snapshot_of


def package_adopt(package: Package, proposal: Proposal, *, by: User) -> None:
    """Write what a proposal holds into the rows of its package, which the caller has locked.

    What was changed of the live rows since, and is not proposed, stays: a time limit, say.
    """
    before, after = proposal.before, proposal.after
    for name in PACKAGE_FIELDS if before else ():  # without, the rows hold it already
        if name in after and name != "allowed_hosts" and after[name] != before.get(name):
            setattr(package, name, after[name])
    package.review_status = ReviewStatus.APPROVED
    package.save()
    _allow_hosts(package, before, after, by)
    ids = [UUID(entry["tool"]) for entry in proposal.versions]
    tools = {str(tool.pk): tool for tool in Tool.objects.filter(pk__in=ids)}
    for entry in proposal.versions:
        tool = tools[entry["tool"]]
        tool.package = package
        tool_adopt(tool, entry, by=by)
    for tool in Tool.objects.filter(pk__in=proposal.removed, deleted_at=None):
        tool_delete(tool)


def _allow_hosts(package: Package, before: JsonObject, after: JsonObject, by: User) -> None:
    """Allow the hosts that are proposed; what was decided about others meanwhile stays."""
    proposed: list[str] = after.get("allowed_hosts", [])
    known: list[str] = before.get("allowed_hosts", proposed)
    new = [host for host in proposed if host not in known]
    if new:
        hosts = list(dict.fromkeys([*package.allowed_hosts, *new]))
        package_allow_hosts(package, hosts, by=by, reason="Approved with what was proposed.")


def tool_adopt(tool: Tool, entry: JsonObject, *, by: User) -> None:
    """Make the staged version of a tool its live one."""
    numbers = [entry["number"], *([entry["live"]] if entry["live"] else [])]
    versions = {v.number: v for v in ToolVersion.objects.filter(tool=tool, number__in=numbers)}
    staged = versions[entry["number"]]
    base: JsonObject = versions[entry["live"]].snapshot if entry["live"] in versions else {}
    title = tool.title
    for name in TOOL_FIELDS:
        value = staged.snapshot.get(name, [])  # `raw_string_args` is left out where there are none
        if name == "required_scopes":  # a governor's are not taken back by what a package says
            value = scopes_merged(base.get(name, value), tool.required_scopes, value)
        if name not in base or value != base[name]:
            setattr(tool, name, value)
    if tool.package is None and tool.title != title:
        tool.wire_name = free_wire_name(None, tool.title, tool_id=tool.pk)
    if tool.deleted_at is not None:
        of = tool.package.name if tool.package else None
        tool.wire_name = free_wire_name(of, tool.export_name or tool.title, tool_id=tool.pk)
        tool.deleted_at = None
    if tool.review_status == ReviewStatus.CANDIDATE:
        tool.review_status = ReviewStatus.APPROVED
    if "error" in entry:  # it was looked at
        tool.import_health = Health.BROKEN if entry["error"] else Health.HEALTHY
        tool.health_error, tool.last_health_check_at = entry["error"], timezone.now()
    if tool.execution_health == ExecutionHealth.NEEDS_KEY:  # it may read more now
        tool.execution_health, tool.health_error = ExecutionHealth.UNKNOWN, None
    number = staged.number
    if canonical_digest(snapshot_of(tool)) != staged.digest:
        tool_publish(tool, author=by, reason=f"Approved version {number} with changes since")
        return
    tool.version, tool.quality = number, quality_at_publish(tool)
    tool.unreviewed_versions = [n for n in tool.unreviewed_versions if n != number]
    tool.save()
