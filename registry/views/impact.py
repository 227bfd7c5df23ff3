"""The pages that say what a change, or the end, of tools would do."""

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from config.lib.http import SignedInRequest
from registry.history import versions_seen_by
from registry.impact.asked import Asked, asked_of_package, asked_of_tool
from registry.impact.parts import Impact
from registry.impact.picture import picture_of

VERSIONS_OFFERED = 8


@login_required
@require_GET
def tool_impact(request: SignedInRequest, tool_id: UUID) -> HttpResponse:
    """Show who uses a tool, and what a version, a proposal or its end would do to them."""
    asked = asked_of_tool(request.user, tool_id, request.GET.dict())
    versions = versions_seen_by(request.user, asked.subject).exclude(number=asked.subject.version)
    context = {
        **_shown(asked),
        "tool": asked.subject,
        "versions": versions.values_list("number", flat=True)[:VERSIONS_OFFERED],
    }
    return render(request, "registry/tool_impact.html", context)


@login_required
@require_GET
def package_impact(request: SignedInRequest, package_id: UUID) -> HttpResponse:
    """Show who uses the tools of a package, and what a proposal or their end would do."""
    asked = asked_of_package(request.user, package_id, request.GET.dict())
    context = {**_shown(asked), "package": asked.subject}
    return render(request, "registry/package_impact.html", context)


def shown(impact: Impact) -> dict[str, Any]:
    """Return what `registry/_impact.html` needs."""
    return {"impact": impact, "picture": picture_of(impact)}


def _shown(asked: Asked[Any]) -> dict[str, Any]:
    return {"asked": asked, **shown(asked.impact)}
