"""The versions of one's own sequence: its draft against what is published, names, and back."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from config.lib.errors import DomainError
from config.lib.http import SignedInRequest
from config.lib.numbers import whole_number
from registry.history import standing_in_words, versions_seen_by
from registry.impact.asked import impact_of_end
from registry.models import Tool
from sequences import versions
from sequences.forms.changes import MOST_TOLD, changes_between
from sequences.opened import opened_tool, published_draft
from sequences.selectors import sequence_owned_by

VERSIONS_A_PAGE = 30


@login_required
@require_GET
def version_list(request: SignedInRequest, tool_id: UUID) -> HttpResponse:
    """Show the draft against the published version, and all versions, the newest first."""
    return _shown(request, sequence_owned_by(request.user, tool_id))


@login_required
@require_POST
def version_named(request: SignedInRequest, tool_id: UUID, number: int) -> HttpResponse:
    """Give a version a name."""
    tool = sequence_owned_by(request.user, tool_id)
    said = request.POST.get("name", "")
    try:
        name = versions.version_name(tool, number, said, user=request.user)
    except DomainError as error:
        return _shown(request, tool, wrong=(number, said, error))
    told = f"is called “{name}”" if name else "has no name any more"
    messages.success(request, f"Version {number} {told}.")
    return redirect("sequences:sequence_versions", tool.pk)


@login_required
@require_POST
def version_drafted(request: SignedInRequest, tool_id: UUID, number: int) -> HttpResponse:
    """Take a version into the draft and open that."""
    opened = opened_tool(request.user, tool_id)
    revision = whole_number(request.POST.get("revision", "")) or 0
    try:
        versions.version_to_draft(opened, number, user=request.user, revision=revision)
    except DomainError as error:
        messages.error(request, f"{error.message} {error.hint}".strip())
        return redirect("sequences:sequence_versions", tool_id)
    messages.success(request, f"The draft is what version {number} says. Undo brings yours back.")
    return redirect("sequences:sequence_edit", tool_id)


def _shown(
    request: SignedInRequest, tool: Tool, wrong: tuple[int, str, DomainError] | None = None
) -> HttpResponse:
    opened = opened_tool(request.user, tool.pk)
    published = published_draft(opened)
    changes = changes_between(published, opened.draft) if published else []
    rows = versions_seen_by(request.user, tool)
    below = whole_number(request.GET.get("below", ""))
    if below:
        rows = rows.filter(number__lt=below)
    listed = list(rows[: VERSIONS_A_PAGE + 1])
    names = versions.names_of(tool)
    refused, typed, error = wrong or (0, "", None)
    context = {
        "tool": tool,
        "opened": opened,
        "changes": changes[:MOST_TOLD],
        "more_changes": max(len(changes) - MOST_TOLD, 0),
        "rows": [
            {
                "version": version,
                "earlier": version.number - 1,
                "standing": standing_in_words(tool, version),
                "name": typed if version.number == refused else names.get(version.number, ""),
                "error": error if version.number == refused else None,
            }
            for version in listed[:VERSIONS_A_PAGE]
        ],
        "older": listed[VERSIONS_A_PAGE - 1].number if len(listed) > VERSIONS_A_PAGE else None,
        "is_first_page": not below,
        "longest_name": versions.LONGEST_NAME,
        "impact": impact_of_end(tool, user=request.user),
        "error": error,
    }
    status = int(error.status) if error else 200
    return render(request, "sequences/version_list.html", context, status=status)
