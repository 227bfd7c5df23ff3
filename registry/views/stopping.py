"""Stop a tool or package, let it run again, and say how it is limited."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from config.lib.errors import Conflict, DomainError, InvalidInput
from config.lib.http import SignedInRequest
from registry.governance_forms import GovernanceForm, StopForm
from registry.governing import tool_govern
from registry.limits import allowance_of
from registry.models import Package, Tool
from registry.selectors import package_governed_by, tool_governed_by, tools_visible_to
from registry.stopping import package_resume, package_stop, tool_resume, tool_stop

Change = Callable[..., Any]


@login_required
@require_http_methods(["GET", "POST"])
def tool_stop_view(request: SignedInRequest, tool_id: UUID) -> HttpResponse:
    """Ask for the reason, and stop a tool."""
    return _answered(request, tool_governed_by(request.user, tool_id), tool_stop)


@login_required
@require_http_methods(["GET", "POST"])
def tool_resume_view(request: SignedInRequest, tool_id: UUID) -> HttpResponse:
    """Ask for the reason, and let a tool run again."""
    return _answered(request, tool_governed_by(request.user, tool_id), tool_resume)


@login_required
@require_http_methods(["GET", "POST"])
def package_stop_view(request: SignedInRequest, package_id: UUID) -> HttpResponse:
    """Ask for the reason, and stop a package."""
    return _answered(request, package_governed_by(request.user, package_id), package_stop)


@login_required
@require_http_methods(["GET", "POST"])
def package_resume_view(request: SignedInRequest, package_id: UUID) -> HttpResponse:
    """Ask for the reason, and let a package run again."""
    return _answered(request, package_governed_by(request.user, package_id), package_resume)


@login_required
@require_http_methods(["GET", "POST"])
def tool_governance(request: SignedInRequest, tool_id: UUID) -> HttpResponse:
    """Show and change the scopes, the limits and the cost of a tool."""
    tool = tool_governed_by(request.user, tool_id)
    form = GovernanceForm(request.POST or None, tool=tool)
    if form.is_bound and form.is_valid():
        reason = form.cleaned_data["reason"]
        try:
            tool_govern(tool, form.governed, by=request.user, reason=reason)
        except InvalidInput as error:
            form.refuse(error)
        else:
            messages.success(request, f"{tool.title} is governed so from the next call on.")
            return redirect(_page_of(tool, request.user))
    status = 422 if form.is_bound else 200
    context = {"tool": tool, "form": form, "page": _page_of(tool, request.user)}
    return render(request, "registry/tool_governance.html", context, status=status)


def limits_of(tool: Tool, user: User) -> dict[str, Any]:
    """Return what the part “Limits” of a tool's page shows."""
    caller = f"user:{user.pk}"
    cost = tool.cost_per_call
    return {
        "allowance": allowance_of(tool.kind, tool.calls_per_minute, tool.pk, caller),
        "cost": "" if cost is None else f"{cost.normalize():f}",
    }


def _answered(request: SignedInRequest, item: Tool | Package, change: Change) -> HttpResponse:
    resumes = change in (tool_resume, package_resume)
    name = item.title if isinstance(item, Tool) else item.name
    form = StopForm(request.POST or None, resumes=resumes)
    if form.is_bound and form.is_valid():
        try:
            change(item, by=request.user, reason=form.cleaned_data["reason"])
        except (InvalidInput, Conflict) as error:
            form.refuse(_worded(error))
        else:
            done = "runs again." if resumes else "is stopped, everywhere."
            messages.success(request, f"{name} {done}")
            return redirect(_page_of(item, request.user))
    context = {
        "item": item,
        "name": name,
        "page": _page_of(item, request.user),
        "is_package": isinstance(item, Package),
        "resumes": resumes,
        "form": form,
    }
    return render(request, "registry/stop.html", context, status=422 if form.is_bound else 200)


def _worded(error: DomainError) -> DomainError:
    return type(error)(f"{error.message} {error.hint}", **error.extra)


def _page_of(item: Tool | Package, user: User) -> str:
    """Return where to go on: a governor may stop a tool that they cannot see in the catalogue."""
    if isinstance(item, Package):
        return reverse("registry:package_detail", args=[item.pk])
    if tools_visible_to(user).filter(pk=item.pk).exists():
        return reverse("registry:tool_detail", args=[item.pk])
    if user.is_staff:
        return reverse("admin:registry_tool_change", args=[item.pk])
    return reverse("registry:tool_list")
