"""Find, open and close proposals, and keep the versions that they are about."""

from django.contrib.auth.models import User
from django.db.models import Max

from config.lib.types import JsonObject
from registry.models import Package, Proposal, Tool, ToolVersion
from registry.models.proposal import ProposalState
from registry.schemas import canonical_digest
from registry.services import proposal_close

REFUSED = (ProposalState.REJECTED, ProposalState.QUARANTINED)


def proposal_open_of(subject: Package | Tool) -> Proposal | None:
    """Return the open proposal of a package or a tool, locked."""
    return (
        Proposal.objects.select_for_update()
        .filter(**_about(subject), state=ProposalState.OPEN)
        .first()
    )


def proposal_supersede(proposal: Proposal) -> None:
    """Close a proposal that something newer stands in for."""
    proposal_close(proposal, ProposalState.SUPERSEDED, by=None)


def proposal_refused(subject: Package | Tool, digest: str) -> Proposal | None:
    """Return the last decision on this very content where it was a refusal."""
    decided = Proposal.objects.filter(
        **_about(subject), digest=digest, state__in=(*REFUSED, ProposalState.APPROVED)
    )
    last = decided.order_by("-decided_at").first()
    return last if last is not None and last.state in REFUSED else None


def version_stage(tool: Tool, snapshot: JsonObject, *, author: User | None, reason: str) -> int:
    """Keep a snapshot as a version that is not live, and return its number."""
    digest = canonical_digest(snapshot)
    stored = Tool.objects.select_for_update().get(pk=tool.pk)
    versions = ToolVersion.objects.filter(tool_id=tool.pk)
    waiting = set(stored.unreviewed_versions) - set(stored.blocked_versions)
    same = versions.filter(digest=digest, number__in=waiting).order_by("-number").first()
    if same is not None:
        return same.number
    number: int = (versions.aggregate(newest=Max("number"))["newest"] or 0) + 1
    ToolVersion.objects.create(
        tool_id=tool.pk,
        number=number,
        digest=digest,
        snapshot=snapshot,
        author=author,
        reason=reason,
    )
    stored.unreviewed_versions = [*stored.unreviewed_versions, number]
    stored.save(update_fields=["unreviewed_versions", "updated_at"])
    return number


def _about(subject: Package | Tool) -> dict[str, Package | Tool]:
    return {"package": subject} if isinstance(subject, Package) else {"tool": subject}
