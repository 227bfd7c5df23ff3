"""Decide on a proposal, once: approve, reject or quarantine it."""

from collections.abc import Collection

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from config.lib.changes import decided
from config.lib.errors import Conflict, InvalidInput, NotAllowed
from registry.models import Package, Proposal, Tool
from registry.models.package import ReviewStatus
from registry.models.proposal import ProposalState
from registry.review.adopting import package_adopt, tool_adopt
from registry.review.errors import FindingsBlock, ProposalDecided
from registry.services import package_review, proposal_block, proposal_close, tool_review

BLOCKING = "block"
"""Severity of a finding that has to be accepted by name."""


@transaction.atomic
def proposal_approve(
    proposal: Proposal, *, by: User, reason: str, accept: Collection[str] = ()
) -> Proposal:
    """Make what is proposed the live one.

    Introduced findings that block need their codes in `accept`. Raises NotAllowed,
    ProposalDecided and FindingsBlock.
    """
    _require_reviewer(by)
    proposal = _locked(proposal)
    lacking = [code for code in blocking_codes(proposal) if code not in accept]
    if lacking:
        raise FindingsBlock(
            f"The scans found {', '.join(lacking)} in what is proposed.", codes=lacking
        )
    return _approved(proposal, by, reason)


@transaction.atomic
def proposal_pass(proposal: Proposal, *, by: User, reason: str) -> Proposal:
    """Make live what nobody has to look at; `registry.review.trusting` says when that is so."""
    return _approved(_locked(proposal), by, reason)


def _approved(proposal: Proposal, by: User, reason: str) -> Proposal:
    try:
        with transaction.atomic(), decided(by, reason):
            proposal_close(proposal, ProposalState.APPROVED, by=by, reason=reason)
            _adopt(proposal, by)
    except IntegrityError:
        raise Conflict(
            "Somebody has just taken the name of one of the tools.", "Approve it again."
        ) from None
    return proposal


def _adopt(proposal: Proposal, by: User) -> None:
    if proposal.package is not None:
        package_adopt(proposal.package, proposal, by=by)
        package_review(proposal.package, status=ReviewStatus.APPROVED)
    elif proposal.tool is not None:
        for entry in proposal.versions:
            tool_adopt(proposal.tool, entry, by=by)
        tool_review(proposal.tool, status=ReviewStatus.APPROVED)


def proposal_reject(proposal: Proposal, *, by: User, reason: str) -> Proposal:
    """Refuse what is proposed; what was live before stays. Raises NotAllowed, ProposalDecided."""
    return _refuse(proposal, ProposalState.REJECTED, by, reason)


def proposal_quarantine(proposal: Proposal, *, by: User, reason: str) -> Proposal:
    """Refuse what is proposed as dangerous; what was live before stays."""
    return _refuse(proposal, ProposalState.QUARANTINED, by, reason)


def blocking_codes(proposal: Proposal) -> list[str]:
    """Return the codes of the findings that must be accepted before it can be approved."""
    return list(
        dict.fromkeys(
            finding["code"]
            for finding in proposal.findings
            if finding.get("severity") == BLOCKING and finding.get("introduced")
        )
    )


@transaction.atomic
def _refuse(proposal: Proposal, state: ProposalState, by: User, reason: str) -> Proposal:
    _require_reviewer(by)
    proposal = _locked(proposal)
    if not reason.strip():
        raise InvalidInput("Say why; whoever proposed it reads this.", "Send a reason.")
    with decided(by, reason):
        _close_refused(proposal, state, by, reason)
    return proposal


def _close_refused(proposal: Proposal, state: ProposalState, by: User, reason: str) -> None:
    proposal_close(proposal, state, by=by, reason=reason)
    status = ReviewStatus(state.value)
    if proposal.package is not None and proposal.package.review_status != ReviewStatus.APPROVED:
        package_review(proposal.package, status=status)
    elif proposal.tool is not None and proposal.tool.review_status != ReviewStatus.APPROVED:
        tool_review(proposal.tool, status=status)
    else:
        proposal_block(proposal)


def _require_reviewer(by: User) -> None:
    if not by.has_perm("registry.change_package"):
        raise NotAllowed("Only a reviewer decides on what is proposed.", "Ask a reviewer.")


def _locked(proposal: Proposal) -> Proposal:
    """Return the open proposal with its subject, both locked, the subject first as imports do."""
    package = tool = None
    if proposal.package_id:
        package = Package.objects.select_for_update().get(pk=proposal.package_id)
    elif proposal.tool_id:
        tool = Tool.objects.select_for_update().get(pk=proposal.tool_id)
    proposal = Proposal.objects.select_for_update().get(pk=proposal.pk)
    if proposal.state != ProposalState.OPEN:
        raise ProposalDecided(_already(proposal))
    proposal.package, proposal.tool = package, tool
    return proposal


def _already(proposal: Proposal) -> str:
    if proposal.state == ProposalState.SUPERSEDED:
        return "Something newer was proposed in its place."
    who = proposal.decided_by.get_username() if proposal.decided_by else "Somebody"
    return f"{who} has {proposal.state} it already."
