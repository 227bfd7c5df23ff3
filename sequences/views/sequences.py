"""The list of sequences."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from config.lib.http import SignedInRequest
from config.lib.paging import CappedPaginator
from registry.impact.asked import impact_of_end
from registry.impact.picture import picture_of
from sequences import selectors, services
from sequences.opened import unpublished_drafts
from sequences.repairing import sequences_troubled

SEQUENCES_A_PAGE = 24
DRAFTS_SHOWN = 12


@login_required
@require_GET
def sequence_list(request: SignedInRequest) -> HttpResponse:
    """List a person's own sequences, those of their teams and the public ones."""
    sequences = selectors.sequences_visible_to(request.user).order_by("title", "pk")
    page = CappedPaginator(sequences, SEQUENCES_A_PAGE).get_page(request.GET.get("page"))
    drafts = unpublished_drafts(request.user)
    troubled = sequences_troubled(request.user, page.object_list)
    context = {
        "page": page,
        "cards": [(tool, troubled.get(tool.pk, "")) for tool in page],
        "drafts": drafts[:DRAFTS_SHOWN],
        "more_drafts": max(drafts.count() - DRAFTS_SHOWN, 0),
    }
    return render(request, "sequences/sequence_list.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def sequence_delete(request: SignedInRequest, tool_id: UUID) -> HttpResponse:
    """Show who uses one of a person's own sequences, and delete it."""
    tool = selectors.sequence_owned_by(request.user, tool_id)
    if request.method == "GET":
        impact = impact_of_end(tool, user=request.user)
        context = {"tool": tool, "impact": impact, "picture": picture_of(impact)}
        return render(request, "registry/tool_delete.html", context)
    services.sequence_delete(tool)
    messages.success(request, f"{tool.title} is deleted. Its runs are kept.")
    return redirect("sequences:sequence_list")
