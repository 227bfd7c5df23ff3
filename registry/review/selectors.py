"""Which proposals there are, and who sees them."""

from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from config.lib.errors import NotFound
from registry.models import Package, Proposal, Tool
from registry.models.proposal import ProposalState


def proposals_visible_to(user: User) -> QuerySet[Proposal]:
    """Return a person's own proposals, and all of them to reviewers and auditors; newest first.

    One's own are those one opened, and those about a package or a tool of one's own.
    """
    proposals = Proposal.objects.select_related("package", "tool", "opened_by", "decided_by")
    if not any(user.has_perm(f"registry.{act}") for act in ("change_package", "view_proposal")):
        own = Q(opened_by=user) | Q(package__added_by=user) | Q(tool__owner=user)
        proposals = proposals.filter(own)
    return proposals.order_by("-opened_at", "pk")


def open_proposals(user: User) -> QuerySet[Proposal]:
    """Return the visible proposals that wait for review, newest first."""
    return proposals_visible_to(user).filter(state=ProposalState.OPEN)


def proposal_visible_to(user: User, proposal_id: UUID) -> Proposal:
    """Return one visible proposal or raise NotFound."""
    proposal = proposals_visible_to(user).filter(pk=proposal_id).first()
    if proposal is None:
        raise NotFound("There is no such proposal, or you may not see it.")
    return proposal


def open_proposal_of(subject: Package | Tool) -> Proposal | None:
    """Return what waits for review of a package or a user-made tool, if anything."""
    of = {"package": subject} if isinstance(subject, Package) else {"tool": subject}
    return (
        Proposal.objects.filter(**of, state=ProposalState.OPEN).select_related("opened_by").first()
    )
