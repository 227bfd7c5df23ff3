"""Let what a trusted registrar offers be used at once, as if a reviewer had approved it."""

from django.contrib.auth.models import User

from registry.models import Proposal, Tool
from registry.models.proposal import ProposalState
from registry.models.tool import ToolKind
from registry.review.deciding import blocking_codes, proposal_pass
from registry.review.selectors import open_proposal_of
from registry.selectors import BLOCKED

TRUSTED = "registry.trusted_registrar"


def pass_own(tool: Tool, *, by: User) -> bool:
    """Approve what is open of a person's own HTTP tool, if governors trust them with that.

    What the scans hold against it waits for a reviewer all the same, and so does whatever becomes
    of a tool that a reviewer has refused before.
    """
    if tool.kind != ToolKind.API or tool.owner_id != by.pk or not by.has_perm(TRUSTED):
        return False
    proposal = open_proposal_of(tool)
    if proposal is None or blocking_codes(proposal) or _was_refused(tool):
        return False
    proposal_pass(proposal, by=by, reason="Its registrar is trusted")
    return True


def _was_refused(tool: Tool) -> bool:
    refused = (ProposalState.REJECTED, ProposalState.QUARANTINED)
    stands = Tool.objects.filter(pk=tool.pk, review_status__in=BLOCKED)
    return stands.exists() or Proposal.objects.filter(tool=tool, state__in=refused).exists()
