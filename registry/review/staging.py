"""Put what would change beside what is live, for a reviewer to decide on."""

from copy import copy
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from config.lib.types import JsonObject
from registry.models import Package, Proposal, Tool
from registry.models.package import ReviewStatus
from registry.models.proposal import Cause
from registry.models.tool import Visibility
from registry.review.adopting import is_compared_with
from registry.review.found import FoundPackage, FoundTool, package_values, package_with, pinned
from registry.review.opening import (
    proposal_open_of,
    proposal_refused,
    proposal_supersede,
    version_stage,
)
from registry.review.rows import tool_put, tools_by_export
from registry.review.scans import scan
from registry.review.taken import names_taken
from registry.schemas import canonical_digest
from registry.selectors import BLOCKED
from registry.services import tool_delete
from registry.specs import snapshot_of


@dataclass(frozen=True, kw_only=True)
class _Draft:
    """One tool as it would be; `row` is unsaved."""

    known: Tool | None
    row: Tool
    found: FoundTool

    @property
    def is_new(self) -> bool:
        """Say whether nothing of it is live: its own row can hold what is proposed."""
        known = self.known
        return (
            known is None
            or known.deleted_at is not None
            or known.review_status == ReviewStatus.CANDIDATE
        )


@transaction.atomic
def package_propose(
    package: Package, found: FoundPackage, *, by: User | None, cause: Cause, reason: str = ""
) -> Proposal | None:
    """Propose what was found of an approved package, whose rows stay as they are.

    Returns the open proposal; the refused one where this very content was rejected or quarantined
    before (a reviewer's own import opens it again); None where nothing that was approved would
    change. The caller holds the lock on the package.
    """
    proposed = package_with(package, found.values)
    known = tools_by_export(package)
    drafts = [_draft(tool, known, proposed) for tool in found.tools]
    kept = {draft.known.pk for draft in drafts if draft.known}
    living = [tool for tool in known.values() if tool.deleted_at is None]
    live = [tool for tool in living if tool.review_status != ReviewStatus.CANDIDATE]
    before = canonical_digest(pinned(package, live))
    digest = canonical_digest(pinned(proposed, [draft.row for draft in drafts]))
    present = proposal_open_of(package)
    if digest == before:
        if cause == Cause.CHECK and present is not None and present.cause == cause:
            proposal_supersede(present)  # it offers again what was approved
        return None
    if present is not None and (
        _proposes_just(present, digest, package) or _stands_before(present, cause)
    ):
        return present
    if (refused := proposal_refused(package, digest)) and not _reviews(by):
        return refused
    if present is not None:
        proposal_supersede(present)
    for tool in living:  # proposed before, and found no more
        if tool.pk not in kept and tool.review_status == ReviewStatus.CANDIDATE:
            tool_delete(tool)
    told = (reason or f"Proposed {proposed}")[:200]
    changed = [draft for draft in drafts if _changes(draft, package)]
    return Proposal.objects.create(
        package=package,
        cause=cause,
        digest=digest,
        before=package_values(package),
        after=package_values(proposed),
        versions=[_stage(draft, proposed, by, told) for draft in changed],
        removed=[str(tool.pk) for tool in live if tool.pk not in kept],
        findings=_scanned(package, live, proposed, [draft.row for draft in drafts]),
        opened_by=by,
    )


@transaction.atomic
def package_announce(package: Package, *, by: User | None, cause: Cause) -> Proposal | None:
    """Open the review of a package that is not approved: its rows are what is proposed.

    Returns None where just this was rejected or quarantined. The caller holds the lock.
    """
    tools = list(Tool.objects.filter(package=package, deleted_at=None).order_by("export_name"))
    digest = canonical_digest(pinned(package, tools))
    present = proposal_open_of(package)
    if present is not None and present.digest == digest:
        return present
    if proposal_refused(package, digest) and not _reviews(by) and package.review_status in BLOCKED:
        return None
    if present is not None:
        proposal_supersede(present)
    return Proposal.objects.create(
        package=package,
        cause=cause,
        digest=digest,
        after=package_values(package),
        versions=[_entry(tool, tool.version, None) for tool in tools],
        findings=_scanned(None, [], package, tools),
        opened_by=by,
    )


@transaction.atomic
def tool_propose(tool: Tool, written: Tool, *, by: User, reason: str) -> Proposal | None:
    """Propose what its owner made of an approved tool, whose row stays as it is.

    Returns None where it is what is live: a proposal that waited is withdrawn then. What was
    refused before is kept as a version and opens no second review. The caller holds the lock.
    """
    snapshot = snapshot_of(written)
    digest = canonical_digest(snapshot)
    present = proposal_open_of(tool)
    if present is not None and present.digest == digest:
        return present
    if present is not None:
        proposal_supersede(present)
    if digest == canonical_digest(snapshot_of(tool)):
        return None
    if refused := proposal_refused(tool, digest):
        return refused
    number = version_stage(tool, snapshot, author=by, reason=reason)
    return _tool_proposal(tool, written, digest, number, by)


@transaction.atomic
def tool_announce(tool: Tool, *, by: User) -> Proposal | None:
    """Open the review of a tool that is not approved: its row is what is proposed."""
    digest = canonical_digest(snapshot_of(tool))
    present = proposal_open_of(tool)
    if present is not None and present.digest == digest:
        return present
    if present is not None:
        proposal_supersede(present)
    return _tool_proposal(None, tool, digest, tool.version, by)


def _tool_proposal(
    live: Tool | None, written: Tool, digest: str, number: int, by: User
) -> Proposal:
    entry = {"tool": str(written.pk), "export": "", "number": number}
    return Proposal.objects.create(
        tool_id=written.pk,
        cause=Cause.EDIT,
        digest=digest,
        versions=[{**entry, "live": live.version if live else None}],
        findings=scan(
            {"package": None, "tools": {live.wire_name: snapshot_of(live)} if live else {}},
            {"package": None, "tools": {written.wire_name: snapshot_of(written)}},
        ),
        opened_by=by,
    )


def _scanned(
    before: Package | None, live: list[Tool], after: Package, proposed: list[Tool]
) -> list[JsonObject]:
    """Return what the scans find in what is proposed."""
    taken = names_taken([tool.export_name for tool in proposed], but=after)
    return scan(
        {"package": package_values(before) if before else None, "tools": _said(before, live)},
        {"package": package_values(after), "tools": _said(after, proposed)},
        taken=taken,
    )


def _said(package: Package | None, tools: list[Tool]) -> JsonObject:
    for tool in tools:
        tool.package = package
    return {tool.export_name: snapshot_of(tool) for tool in tools}


def _draft(found: FoundTool, known: dict[str, Tool], proposed: Package) -> _Draft:
    tool = known.get(found.export) or known.get(found.known_as)
    row = copy(tool) if tool else Tool(visibility=Visibility.PUBLIC)
    row.package, row.export_name = proposed, found.export
    for name, value in {**({} if tool else found.first), **found.values}.items():
        setattr(row, name, value)
    return _Draft(known=tool, row=row, found=found)


def _changes(draft: _Draft, package: Package) -> bool:
    if draft.known is None or draft.is_new:
        return True
    draft.known.package = package
    return canonical_digest(snapshot_of(draft.known)) != canonical_digest(snapshot_of(draft.row))


def _stage(draft: _Draft, proposed: Package, by: User | None, reason: str) -> JsonObject:
    known = draft.known
    if known is not None and not draft.is_new:
        number = version_stage(known, snapshot_of(draft.row), author=by, reason=reason)
        return _entry(draft.row, number, known.version, draft.found)
    values = {
        **({} if known else draft.found.first),
        **draft.found.values,
        "visibility": Visibility.PUBLIC,
        "review_status": _status_when_new(known),
    }
    name = (proposed.name, draft.found.name or draft.found.export)
    tool = tool_put(
        known, proposed, draft.found.export, values, name=name, author=by, reason=reason
    )
    return _entry(tool, tool.version, None, draft.found)


def _status_when_new(known: Tool | None) -> str:
    """Return how a tool stands that nobody has approved yet; a governor's word about it stays."""
    stopped = known is not None and known.review_status in BLOCKED
    return known.review_status if known and stopped else ReviewStatus.CANDIDATE


def _entry(tool: Tool, number: int, live: int | None, found: FoundTool | None = None) -> JsonObject:
    """Return `{tool, export, number, live, error?}`; `error` is there where it was looked at."""
    entry = {"tool": str(tool.pk), "export": tool.export_name, "number": number, "live": live}
    return {**entry, "error": found.error} if found and found.is_checked else entry


def _proposes_just(present: Proposal, digest: str, package: Package) -> bool:
    """Say whether this is what waits; not so, where the live one was taken back since."""
    return present.digest == digest and is_compared_with(package, present.before)


def _stands_before(present: Proposal, cause: Cause) -> bool:
    """Say whether what waits was asked for, and is not pushed away by what a check has seen."""
    return cause == Cause.CHECK and present.cause != Cause.CHECK


def _reviews(by: User | None) -> bool:
    return by is not None and by.has_perm("registry.change_package")
