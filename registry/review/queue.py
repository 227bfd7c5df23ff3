"""What waits for a decision, and what was decided, each in a line."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import QuerySet
from django.db.models.fields.json import KT

from config.lib.types import JsonValue
from registry.models import Proposal
from registry.models.proposal import DECIDED, ProposalState
from registry.review.scans import blocking

MOST_COUNTED = 1_000


@dataclass(frozen=True, kw_only=True)
class Tally:
    """How many findings there are: `blocks` must be accepted, `known` was approved before."""

    blocks: int = 0
    warns: int = 0
    infos: int = 0
    known: int = 0


def tally_of(findings: Iterable[Mapping[str, JsonValue]]) -> Tally:
    """Count findings by what they mean to a reviewer."""
    items = list(findings)
    new = [item for item in items if item.get("introduced")]
    blocks = len(blocking(new))
    warns = sum(item.get("severity") == "warn" for item in new)
    return Tally(
        blocks=blocks,
        warns=warns,
        infos=len(new) - blocks - warns,
        known=len(items) - len(new),
    )


def proposals_in_lines() -> QuerySet[Proposal]:
    """Return proposals as lists show them: without the package's whole values.

    Each has `version_before` and `version_after`, of the package.
    """
    return (
        Proposal.objects.defer("before", "after")
        .annotate(version_before=KT("before__version"), version_after=KT("after__version"))
        .select_related("package", "tool", "tool__owner", "opened_by", "decided_by")
    )


def waiting(limit: int) -> list[Proposal]:
    """Return the open proposals that have waited longest."""
    opened = proposals_in_lines().filter(state=ProposalState.OPEN)
    return list(opened.order_by("opened_at", "pk")[:limit])


def waiting_count() -> int:
    """Count the open proposals, at most `MOST_COUNTED`."""
    return Proposal.objects.filter(state=ProposalState.OPEN)[:MOST_COUNTED].count()


def decided(limit: int) -> list[Proposal]:
    """Return the last decisions, the newest first."""
    done = proposals_in_lines().filter(state__in=DECIDED, decided_at__isnull=False)
    return list(done.order_by("-decided_at", "pk")[:limit])


def told(proposal: Proposal) -> str:
    """Say in a line what a proposal changes, such as `1.0 → 1.1 · 2 tools changed, 1 new`.

    The proposal comes from `proposals_in_lines`, or has its package's values with it.
    """
    new = [entry for entry in proposal.versions if not entry.get("live")]
    changed = len(proposal.versions) - len(new)
    if not _version(proposal, "before") and not changed and not proposal.removed:
        return f"{_plural(len(new), 'tool')} for the first time"
    parts = [
        part
        for count, part in (
            (changed, f"{_plural(changed, 'tool')} changed"),
            (len(new), f"{len(new)} new"),
            (len(proposal.removed), f"{len(proposal.removed)} taken out"),
        )
        if count
    ]
    tools = ", ".join(parts) or "what the package needs or says of itself"
    before, after = _version(proposal, "before"), _version(proposal, "after")
    return f"{before} → {after} · {tools}" if before != after and before else tools


def _version(proposal: Proposal, side: str) -> str:
    annotated = getattr(proposal, f"version_{side}", None)
    if annotated is not None or f"version_{side}" in proposal.__dict__:
        return annotated or ""
    values = proposal.before if side == "before" else proposal.after
    return str(values.get("version") or "")


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
