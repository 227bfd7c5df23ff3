"""Make what was approved the live one."""

from uuid import UUID

from django.contrib.auth.models import User
from django.utils import timezone

from config.lib.errors import Conflict
from config.lib.types import JsonObject
from registry.models import Package, Proposal, Tool, ToolVersion
from registry.models.package import ReviewStatus
from registry.models.tool import ExecutionHealth, Health
from registry.quality.scoring import quality_at_publish
from registry.review.found import PACKAGE_FIELDS
from registry.schemas import canonical_digest
from registry.services import free_wire_name, package_allow_hosts, tool_delete, tool_publish
from registry.specs import TOOL_FIELDS, snapshot_of

CODE = ("artifact", "integrity")
"""What a proposal was compared with: beside other code it says something else."""

_ROW_HOLDS = (*CODE, "version", "description", "env", "settings")
"""What the row of a new package holds already, and is approved with it."""

DECIDED = frozenset({"required_scopes", "timeout_seconds", "package"})
"""What may differ from a proposal: governors decide it of the live row, or the package has it."""


class NotAsProposed(Conflict):
    """What is in the rows is not what the reviewer was shown, or was compared with."""

    code = "not_as_proposed"
    default_hint = "Import it again, or save it again, and decide on the new proposal."


def is_compared_with(package: Package, before: JsonObject) -> bool:
    """Say whether a package still runs the code that these values are of."""
    return all(before[name] == getattr(package, name) for name in CODE if name in before)


def package_adopt(package: Package, proposal: Proposal, *, by: User) -> None:
    """Write what a proposal holds into the rows of its package, which the caller has locked.

    What was changed of the live rows since, and is not proposed, stays: a time limit, say. Raises
    NotAsProposed where that is something that only a review changes.
    """
    before, after = proposal.before, proposal.after
    if not is_compared_with(package, before):
        raise NotAsProposed(f"{package.name} was changed since this was proposed.")
    held = () if before else _ROW_HOLDS
    if any(name in after and after[name] != getattr(package, name) for name in held):
        raise NotAsProposed(f"What is here of {package.name} is not what was proposed.")
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
    """Make the staged version of a tool its live one; raises NotAsProposed as `package_adopt`."""
    numbers = [entry["number"], *([entry["live"]] if entry["live"] else [])]
    versions = {v.number: v for v in ToolVersion.objects.filter(tool=tool, number__in=numbers)}
    staged = versions[entry["number"]]
    # The row of a new tool holds what is proposed, and what was decided of it meanwhile.
    base: JsonObject = versions[entry["live"] or staged.number].snapshot
    if _said(base) != _said(snapshot_of(tool)):
        raise NotAsProposed(f"{tool.wire_name} was changed since this was proposed.")
    title = tool.title
    for name in TOOL_FIELDS:
        value = staged.snapshot.get(name, [])  # `raw_string_args` is left out where there are none
        if value != base.get(name, []):
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


def _said(snapshot: JsonObject) -> JsonObject:
    """Return what only a review changes of a tool."""
    return {name: value for name, value in snapshot.items() if name not in DECIDED}
