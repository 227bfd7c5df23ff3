"""Decide on a package or a tool itself: let it be used, or take it out of use."""

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.db import transaction

from config.lib.errors import Conflict, InvalidInput, NotAllowed
from registry.models import Package, Proposal, Tool
from registry.models.package import ReviewStatus
from registry.review.deciding import (
    blocking_codes,
    proposal_approve,
    proposal_quarantine,
    proposal_reject,
)
from registry.review.errors import FindingsBlock
from registry.review.opening import REFUSED
from registry.review.selectors import open_proposal_of
from registry.services import LONGEST_DECISION, package_review, tool_review

_REFUSE = {
    ReviewStatus.REJECTED: proposal_reject,
    ReviewStatus.QUARANTINED: proposal_quarantine,
}


def package_decide(package: Package, status: ReviewStatus, *, by: User, reason: str) -> None:
    """Approve, reject or quarantine a package with all its tools.

    One that was never approved is decided on by its open proposal, with what the scans found in
    it. Raises NotAllowed, InvalidInput without a reason, Conflict where it stands so already, and
    what deciding on its proposal raises.
    """
    _decide(package, status, by=by, reason=reason, permission="registry.change_package")


def tool_decide(tool: Tool, status: ReviewStatus, *, by: User, reason: str) -> None:
    """Approve, reject or quarantine one tool, as `package_decide` does a package."""
    _decide(tool, status, by=by, reason=reason, permission="registry.change_tool")


def review_obstacle(item: Package | Tool, status: ReviewStatus) -> str:
    """Say why deciding so would be refused; "" where nothing stands in the way."""
    if item.review_status == status:
        return f"It is {status.label.lower()} already."
    if status != ReviewStatus.APPROVED:
        return ""
    codes = _codes_to_accept(item)
    return f"Findings have to be accepted in its review: {', '.join(codes)}." if codes else ""


def _codes_to_accept(item: Package | Tool) -> list[str]:
    """Return the findings that have to be accepted in a review before it can be approved.

    They are those of what waits; or those of a package's first proposal where it was refused and
    nothing was proposed since, for the row still holds it.
    """
    waiting = open_proposal_of(item)
    if waiting is None and isinstance(item, Package):
        last = Proposal.objects.filter(package=item).order_by("-opened_at", "pk").first()
        waiting = last if last and last.state in REFUSED and not last.before else None
    return blocking_codes(waiting) if waiting is not None else []


def checked_reason(reason: str) -> str:
    """Return the reason of a decision, trimmed; raise InvalidInput for none or too long a one."""
    reason = reason.strip()
    if not reason:
        raise InvalidInput("A reason is needed.", "Say in a few words why; it is kept.")
    if len(reason) > LONGEST_DECISION:
        raise InvalidInput(
            f"The reason has {len(reason):,} characters; at most {LONGEST_DECISION} fit.",
            "Say it in fewer words.",
        )
    return reason


@transaction.atomic
def _decide(
    item: Package | Tool, status: ReviewStatus, *, by: User, reason: str, permission: str
) -> None:
    if not by.has_perm(permission):
        raise NotAllowed("Only a reviewer decides on packages and tools.", "Ask a reviewer.")
    reason = checked_reason(reason)
    row = type(item)._default_manager.select_for_update().get(pk=item.pk)
    if row.review_status == status:
        raise Conflict(
            f"{row} is {status.label.lower()} already.", "Nothing was changed; nothing is to do."
        )
    waiting = open_proposal_of(row) if row.review_status != ReviewStatus.APPROVED else None
    if waiting is not None and status == ReviewStatus.APPROVED:
        proposal_approve(waiting, by=by, reason=reason)
    elif waiting is not None and status in _REFUSE:
        _REFUSE[status](waiting, by=by, reason=reason)
    elif status == ReviewStatus.APPROVED and (codes := _codes_to_accept(row)):
        raise FindingsBlock(
            f"The scans found {', '.join(codes)} in what was refused.",
            "Import it again, and accept them in its review.",
            codes=codes,
        )
    elif isinstance(row, Package):
        package_review(row, status=status, by=by, reason=reason)
    else:
        tool_review(row, status=status, by=by, reason=reason)
    item.refresh_from_db()
    LogEntry.objects.log_actions(
        by.pk,
        [item],
        CHANGE,
        change_message=f"{status.label}: {reason}",
        single_object=True,
    )
