"""The tools that are like one."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.views.decorators.http import require_GET

from config.lib.htmx import render_page
from config.lib.http import SignedInRequest
from registry.search.lookup import tools_like
from registry.selectors import tool_visible_to


@login_required
@require_GET
def tool_similar(request: SignedInRequest, tool_id: UUID) -> HttpResponse:
    """Show what else does much the same, on the tool's page or on a page of its own."""
    tool = tool_visible_to(request.user, tool_id)
    context = {"tool": tool, "alike": tools_like(tool, request.user)}
    return render_page(
        request, "registry/tool_similar.html", context, fragment="registry/_tool_similar.html"
    )
