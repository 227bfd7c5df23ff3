"""Every change of the registry."""

import contextlib
from collections.abc import Sequence
from functools import partial
from uuid import UUID

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Func, QuerySet
from django.utils import timezone

from config.lib.changes import changing
from config.lib.errors import InvalidInput, NotAllowed
from config.lib.host_patterns import parse_host_pattern
from config.lib.jsontext import clean_text
from registry.errors import ToolError
from registry.models import Package, Proposal, Tool, ToolVersion
from registry.models.package import ReviewStatus
from registry.models.proposal import ProposalState
from registry.quality.scoring import quality_at_publish
from registry.sandbox.client import sandbox
from registry.schemas import canonical_digest
from registry.selectors import BLOCKED
from registry.specs import snapshot_of
from registry.wire_names import wire_name

MOST_HOSTS = 50
LONGEST_REASON = 200
"""Characters of the reason that a version keeps."""
LONGEST_DECISION = 500
"""Characters of the reason that a decision keeps."""


def free_wire_name(package: str | None, name: str, *, tool_id: UUID | None = None) -> str:
    """Return a wire name for `name` that no other living tool has."""
    others = Tool.objects.filter(deleted_at=None)
    if tool_id is not None:
        others = others.exclude(pk=tool_id)
    return wire_name(package, name, lambda candidate: others.filter(wire_name=candidate).exists())


@transaction.atomic
def tool_publish(tool: Tool, *, author: User | None, reason: str = "") -> ToolVersion:
    """Save a tool, and where its definition changed, as its next immutable version.

    Two editors who publish at once are kept apart by a lock on the tool's row.
    """
    if tool.version:
        stored = Tool.objects.select_for_update().filter(pk=tool.pk)
        tool.unreviewed_versions = stored.values_list("unreviewed_versions", flat=True).get()
    tool.quality = quality_at_publish(tool)
    snapshot = snapshot_of(tool)
    digest = canonical_digest(snapshot)
    versions = ToolVersion.objects.filter(tool_id=tool.pk)
    latest = versions.order_by("-number").first()
    live = versions.filter(number=tool.version).first() if tool.version else None
    for same in (live, latest):  # a newer one than the live one waits for review
        if same is not None and same.digest == digest:
            if same.number != tool.version and _approved(tool):
                waiting = [n for n in tool.unreviewed_versions if n != same.number]
                tool.unreviewed_versions = waiting
            tool.version = same.number
            tool.save()
            return same
    tool.version = latest.number + 1 if latest else 1
    if not _approved(tool):
        tool.unreviewed_versions = [*tool.unreviewed_versions, tool.version]
    with changing(reason=reason):
        tool.save()
        return ToolVersion.objects.create(
            tool=tool,
            number=tool.version,
            digest=digest,
            snapshot=snapshot,
            author=author,
            reason=reason,
        )


def told_reason(reason: str) -> str:
    """Return why something is changed as a version keeps it; raise InvalidInput where too long."""
    told = clean_text(reason).strip()
    if len(told) > LONGEST_REASON:
        message = f"The reason has {len(told)} characters; at most {LONGEST_REASON} fit."
        raise InvalidInput(
            message, "Say it in fewer words.", problems=[{"path": "$.reason", "message": message}]
        )
    return told


def tool_delete(tool: Tool) -> None:
    """Take a tool out of the catalogue; its history stays, its wire name becomes free."""
    tool.deleted_at = timezone.now()
    tool.save(update_fields=["deleted_at", "updated_at"])


@transaction.atomic
def tool_review(
    tool: Tool, *, status: ReviewStatus, by: User | None = None, reason: str = ""
) -> None:
    """Approve, reject or quarantine a tool; what is approved is its present version.

    The open proposal about it is decided with it; one about a tool that is approved already waits
    on.
    """
    stored = Tool.objects.select_for_update().get(pk=tool.pk)
    proposals = Proposal.objects.filter(tool=tool, state=ProposalState.OPEN)
    tool.review_status = status
    tool.save(update_fields=["review_status", "updated_at"])
    _decide_along(proposals, ReviewStatus(stored.review_status), status, by, reason)
    if _approved(tool):
        _vouch(Tool.objects.filter(pk=tool.pk))


@transaction.atomic
def package_review(
    package: Package, *, status: ReviewStatus, by: User | None = None, reason: str = ""
) -> None:
    """Approve, reject or quarantine a package and so its tools, in their present versions.

    The open proposal about it is decided with it; one about a package that is approved already
    waits on.
    """
    stored = Package.objects.select_for_update().get(pk=package.pk)
    proposals = Proposal.objects.filter(package=package, state=ProposalState.OPEN)
    package.review_status = status
    package.save(update_fields=["review_status", "updated_at"])
    _decide_along(proposals, ReviewStatus(stored.review_status), status, by, reason)
    if status == ReviewStatus.APPROVED:
        _vouch(Tool.objects.filter(package=package, review_status=ReviewStatus.APPROVED))
    if status in BLOCKED and package.artifact:
        transaction.on_commit(partial(artifact_forget, package.artifact))


def _decide_along(
    proposals: QuerySet[Proposal],
    before: ReviewStatus,
    status: ReviewStatus,
    by: User | None,
    reason: str,
) -> None:
    """Decide on the open proposal about what was reviewed as a whole."""
    proposal = proposals.select_for_update().first()
    if proposal is None or status == ReviewStatus.CANDIDATE:
        return
    if status == ReviewStatus.APPROVED and before == ReviewStatus.APPROVED:
        return
    staged = any(entry["live"] for entry in proposal.versions)
    if status == ReviewStatus.APPROVED and staged:
        return
    if staged:
        proposal_block(proposal)
    proposal_close(proposal, ProposalState(status.value), by=by, reason=reason)


def proposal_close(
    proposal: Proposal, state: ProposalState, *, by: User | None, reason: str = ""
) -> None:
    """Write down how a proposal ended, once."""
    proposal.state, proposal.decided_by, proposal.decided_at = state, by, timezone.now()
    proposal.decision_reason = clean_text(reason).strip()[:LONGEST_DECISION]
    proposal.save(update_fields=["state", "decided_by", "decided_at", "decision_reason"])


def proposal_block(proposal: Proposal) -> None:
    """Let nobody call what a proposal staged, and take out the tools that it would have added."""
    for entry in proposal.versions:
        tool = Tool.objects.select_for_update().get(pk=entry["tool"])
        tool.blocked_versions = sorted({*tool.blocked_versions, entry["number"]})
        tool.save(update_fields=["blocked_versions", "updated_at"])
        if entry["live"] is None:
            tool_delete(tool)


def _approved(tool: Tool) -> bool:
    package = tool.package
    return tool.review_status == ReviewStatus.APPROVED and (
        package is None or package.review_status == ReviewStatus.APPROVED
    )


def _vouch(tools: QuerySet[Tool]) -> None:
    """Take the present version of each from those that nobody has approved."""
    without = Func(F("unreviewed_versions"), F("version"), function="array_remove")
    tools.update(unreviewed_versions=without)


def artifact_forget(artifact: str) -> None:
    """End what the sandbox keeps ready of it; a service that is not there keeps nothing."""
    with contextlib.suppress(ToolError):
        sandbox().forget(artifact)


def checked_hosts(hosts: Sequence[str]) -> list[str]:
    """Return the patterns in their one spelling; raise InvalidInput that names a wrong one."""
    try:
        checked = dict.fromkeys(str(parse_host_pattern(host)) for host in hosts)
    except ValueError as error:
        raise InvalidInput(str(error), "Write host, host:port or *.host.") from error
    if len(checked) > MOST_HOSTS:
        raise InvalidInput(f"At most {MOST_HOSTS} hosts can be allowed.")
    return list(checked)


@transaction.atomic
def package_allow_hosts(
    package: Package, hosts: Sequence[str], *, by: User, reason: str = ""
) -> None:
    """Let the tools of a package reach these hosts and no others, from the next call on.

    Who decided what, and why, is kept in the package's history in the admin. Raises NotAllowed
    for whoever does not govern packages.
    """
    if not by.has_perm("registry.change_package"):
        raise NotAllowed(
            "Only a reviewer decides which hosts a package may reach.", "Ask a reviewer."
        )
    before, package.allowed_hosts = package.allowed_hosts, checked_hosts(hosts)
    with changing(reason=reason):
        package.save(update_fields=["allowed_hosts", "updated_at"])
    told = f"Network: {_listed(package.allowed_hosts)} (before: {_listed(before)})."
    LogEntry.objects.log_actions(
        by.pk, [package], CHANGE, change_message=f"{told} {reason}".strip(), single_object=True
    )


def _listed(hosts: Sequence[str]) -> str:
    return ", ".join(hosts) or "none"
