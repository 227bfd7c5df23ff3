"""What the pages of a package and a tool show of the proposal that waits, or was last decided."""

from dataclasses import dataclass

from django.contrib.auth.models import User

from config.lib.types import JsonObject
from registry.differences import DifferencesDisplay, display_of, package_differences
from registry.models import Package, Proposal, Tool
from registry.models.package import ReviewStatus
from registry.models.proposal import DECIDED
from registry.review.deciding import blocking_codes
from registry.review.queue import told
from registry.review.selectors import open_proposal_of, proposals_visible_to


@dataclass(frozen=True, kw_only=True)
class ToolChange:
    """What happens to one tool: `change` is new, changed or removed; `live` 0 where it is new."""

    tool_id: str
    export: str
    change: str
    number: int = 0
    live: int = 0
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class ProposalShown:
    """A proposal as its subject's page shows it.

    `is_staged` says that something is live beside it. `blocking` are the codes that have to be
    accepted by name; `hosts` the hosts that approving it allows.
    """

    proposal: Proposal
    is_staged: bool
    maker: str
    summary: str
    tools: list[ToolChange]
    package: DifferencesDisplay | None
    hosts: list[str]
    findings: list[JsonObject]
    known: list[JsonObject]
    blocking: list[str]
    may_decide: bool


def proposal_shown(subject: Package | Tool, user: User) -> ProposalShown | None:
    """Return what waits for review of a package or a tool, for those who may see it."""
    proposal = open_proposal_of(subject)
    if proposal is None or not proposals_visible_to(user).filter(pk=proposal.pk).exists():
        return None
    before, after = proposal.before, proposal.after
    staged = subject.review_status == ReviewStatus.APPROVED
    known = set(before.get("allowed_hosts", []))
    return ProposalShown(
        proposal=proposal,
        is_staged=staged,
        maker=str(_maker(subject) or "a reviewer"),
        summary=told(proposal),
        tools=_tools(proposal),
        package=display_of(list(package_differences(before, after))) if before else None,
        hosts=[host for host in after.get("allowed_hosts", []) if before and host not in known],
        findings=[item for item in proposal.findings if item.get("introduced")],
        known=[item for item in proposal.findings if not item.get("introduced")],
        blocking=blocking_codes(proposal),
        may_decide=user.has_perm("registry.change_package"),
    )


def _maker(subject: Package | Tool) -> User | None:
    return subject.added_by if isinstance(subject, Package) else subject.owner


def version_waiting(tool: Tool, user: User) -> int | None:
    """Return the number of the version that waits beside the live one, for those who may try it."""
    proposal = open_proposal_of(tool.package or tool)
    if proposal is None or not proposals_visible_to(user).filter(pk=proposal.pk).exists():
        return None
    numbers = [
        entry["number"]
        for entry in proposal.versions
        if entry["tool"] == str(tool.pk) and entry["live"]
    ]
    return numbers[0] if numbers else None


def last_refusal(subject: Package | Tool, user: User) -> Proposal | None:
    """Return the last decision where it refused what the person proposed, to tell them why."""
    of = {"package": subject} if isinstance(subject, Package) else {"tool": subject}
    decided = proposals_visible_to(user).filter(**of, state__in=DECIDED).order_by("-decided_at")
    last = decided.first()
    return last if last is not None and last.state != ReviewStatus.APPROVED else None


def _tools(proposal: Proposal) -> list[ToolChange]:
    changes = [
        ToolChange(
            tool_id=entry["tool"],
            export=entry["export"],
            change="changed" if entry["live"] else "new",
            number=entry["number"],
            live=entry["live"] or 0,
            problem=(entry.get("error") or {}).get("message", ""),
        )
        for entry in proposal.versions
    ]
    gone = Tool.objects.filter(pk__in=proposal.removed).order_by("export_name")
    return [
        *changes,
        *(
            ToolChange(tool_id=str(tool.pk), export=tool.export_name, change="removed")
            for tool in gone
        ),
    ]
