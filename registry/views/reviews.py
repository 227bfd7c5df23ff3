"""Decide on a proposal from the page of its package or tool."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from config.lib.errors import DomainError
from config.lib.htmx import wants_fragment
from config.lib.http import SignedInRequest
from registry.models import Proposal
from registry.models.proposal import ProposalState
from registry.review.deciding import proposal_approve, proposal_quarantine, proposal_reject
from registry.review.selectors import proposal_visible_to


@login_required
@require_POST
def proposal_decide(request: SignedInRequest, proposal_id: UUID, decision: str) -> HttpResponse:
    """Carry out `decision` (approve, reject or quarantine) with the reason that the form has."""
    proposal = proposal_visible_to(request.user, proposal_id)
    reason = request.POST.get("reason", "")
    try:
        if decision == "approve":
            accept = request.POST.getlist("accept")
            done = proposal_approve(proposal, by=request.user, reason=reason, accept=accept)
        elif decision == "reject":
            done = proposal_reject(proposal, by=request.user, reason=reason)
        else:
            done = proposal_quarantine(proposal, by=request.user, reason=reason)
    except DomainError as error:
        if wants_fragment(request):
            raise
        messages.error(request, f"{error.message} {error.hint}".strip())
    else:
        messages.success(request, _told(done))
    return _subject(proposal)


def _told(proposal: Proposal) -> str:
    if proposal.state == ProposalState.APPROVED:
        return f"{proposal.package or proposal.tool} is approved and in use from now on."
    return f"{proposal.get_state_display()}. What was in use before stays as it is."


def _subject(proposal: Proposal) -> HttpResponse:
    if proposal.package_id:
        return redirect("registry:package_detail", proposal.package_id)
    return redirect("registry:tool_detail", proposal.tool_id)
