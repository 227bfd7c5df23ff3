"""What somebody asks about: a version, what waits for review, or the end of a tool or package."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar
from uuid import UUID

from django.contrib.auth.models import User

from config.lib.errors import InvalidInput
from config.lib.numbers import whole_number
from registry.history import tool_with_history, version_seen_by
from registry.impact.finding import impact_of
from registry.impact.parts import Impact, Snapshot
from registry.models import Package, Proposal, Tool, ToolVersion
from registry.review.selectors import open_proposal_of, proposals_visible_to
from registry.selectors import package_visible_to


class About(StrEnum):
    """What would happen."""

    VERSION = "version"
    PROPOSAL = "proposal"
    DELETION = "deletion"


Subject = TypeVar("Subject", Tool, Package)


@dataclass(frozen=True, kw_only=True)
class Asked(Generic[Subject]):
    """A question and its answer; `tools` are those it is about, `proposal` what is open.

    `proposal` is there, for whoever may see it, whatever is asked about.
    """

    subject: Subject
    about: About
    impact: Impact
    version: int | None = None
    proposal: Proposal | None = None

    @property
    def words(self) -> str:
        """Return what would happen, as the start of a sentence."""
        noun = "package" if isinstance(self.subject, Package) else "tool"
        match self.about:
            case About.VERSION:
                return f"If version {self.version} were live"
            case About.PROPOSAL:
                return "If what waits for review is approved"
            case _:
                return f"If the {noun} is deleted, rejected or quarantined"


def asked_of_tool(user: User, tool_id: UUID, query: Mapping[str, str]) -> Asked[Tool]:
    """Answer `?version=N`, `?deleted=1`, or what waits for review; else the end of the tool.

    Raises NotFound for what the person may not see, and InvalidInput for a query that is unclear.
    """
    tool = tool_with_history(user, tool_id)
    proposal = _proposal_about(user, tool)
    number, goes = _version(query), _is_deleted(query)
    if number is not None:
        version = version_seen_by(user, tool, number)
        impact = impact_of([tool.pk], user=user, proposed={tool.pk: version.snapshot})
        about = About.VERSION
    elif proposal is None or goes:
        impact = impact_of([tool.pk], user=user, gone=True)
        about = About.DELETION
    else:
        impact = impact_of([tool.pk], user=user, proposed=proposed_by(proposal))
        about = About.PROPOSAL
    return Asked(subject=tool, about=about, impact=impact, version=number, proposal=proposal)


def asked_of_package(user: User, package_id: UUID, query: Mapping[str, str]) -> Asked[Package]:
    """Answer for all tools of a package: what waits for review, else (`?deleted=1`) their end."""
    package = package_visible_to(user, package_id)
    proposal = _visible(user, open_proposal_of(package))
    goes = _is_deleted(query)
    if proposal is None or goes:
        impact = impact_of(_tools_of(package), user=user, gone=True)
        return Asked(subject=package, about=About.DELETION, impact=impact, proposal=proposal)
    impact = impact_of_proposal(proposal, user=user)
    return Asked(subject=package, about=About.PROPOSAL, impact=impact, proposal=proposal)


def impact_of_proposal(*proposals: Proposal, user: User) -> Impact:
    """Return what the approval of these proposals would do."""
    proposed = proposed_by(*proposals)
    return impact_of(list(proposed), user=user, proposed=proposed)


def impact_of_end(*subjects: Tool | Package, user: User) -> Impact:
    """Return what it would do to delete, reject or quarantine these tools and packages."""
    packages = [subject for subject in subjects if isinstance(subject, Package)]
    ids = [subject.pk for subject in subjects if isinstance(subject, Tool)]
    return impact_of([*ids, *_tools_of(*packages)], user=user, gone=True)


def proposed_by(*proposals: Proposal) -> dict[UUID, Snapshot | None]:
    """Return the snapshots that proposals would make live, None for a tool that they take out."""
    numbers = {
        UUID(entry["tool"]): entry["number"]
        for proposal in proposals
        for entry in proposal.versions
    }
    versions = ToolVersion.objects.filter(
        tool_id__in=numbers, number__in=set(numbers.values())
    ).iterator()
    proposed: dict[UUID, Snapshot | None] = {
        version.tool_id: version.snapshot
        for version in versions
        if numbers[version.tool_id] == version.number
    }
    removed = [UUID(tool_id) for proposal in proposals for tool_id in proposal.removed]
    return {**proposed, **dict.fromkeys(removed)}


def _proposal_about(user: User, tool: Tool) -> Proposal | None:
    """Return what is open of a tool, or of its package and says something of the tool."""
    own = open_proposal_of(tool)
    if own is None and tool.package is not None:
        own = open_proposal_of(tool.package)
        named = [*(entry["tool"] for entry in own.versions), *own.removed] if own else []
        own = own if str(tool.pk) in named else None
    return _visible(user, own)


def _visible(user: User, proposal: Proposal | None) -> Proposal | None:
    if proposal is None:
        return None
    return proposals_visible_to(user).filter(pk=proposal.pk).first()


def _tools_of(*packages: Package) -> list[UUID]:
    tools = Tool.objects.filter(package__in=packages, deleted_at=None)
    return list(tools.values_list("pk", flat=True))


def _version(query: Mapping[str, str]) -> int | None:
    text = query.get("version", "")
    if not text:
        return None
    if _is_deleted(query):
        raise InvalidInput("Ask for a version or for deletion, not for both.", "Leave one out.")
    number = whole_number(text)
    if not number:
        raise InvalidInput(f"“{text[:20]}” is no version.", "Send version=1 or another number.")
    return number


def _is_deleted(query: Mapping[str, str]) -> bool:
    text = query.get("deleted", "")
    if text not in ("", "0", "1", "true", "false"):
        raise InvalidInput(f"“{text[:20]}” is no answer to “deleted”.", "Send deleted=1.")
    return text in ("1", "true")
