"""What a person may do about tools that are not well, on the pages of a tool and its package."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRefresh

from config.lib.errors import DomainError
from config.lib.htmx import wants_fragment
from config.lib.http import SignedInRequest
from config.lib.ids import uuid_in
from config.lib.types import JsonObject
from registry.errors import ExportDrift
from registry.importing.access import may_change
from registry.importing.checks import asks_upstream
from registry.importing.repair import package_repair
from registry.importing.schedule import can_check, check_request, schedule_of
from registry.importing.variables import package_declare_env, suggested_names
from registry.models import Package, Tool
from registry.models.health import Health
from registry.models.package import ReviewStatus
from registry.review.selectors import open_proposal_of
from registry.selectors import package_visible_to

PATIENCE = timedelta(minutes=2)
"""How long the page waits for a worker to look."""


@dataclass(frozen=True, kw_only=True)
class Mending:
    """The steps that are open to a person: `drifts` is `[{declared, candidates}]`."""

    drifts: list[JsonObject]
    suggested: list[str]
    can_check: bool


@dataclass(frozen=True, kw_only=True)
class Look:
    """A look at a package that was asked for at `since`."""

    since: str
    open: bool
    error: JsonObject | None


def mending_of(package: Package | None, user: User, tool: Tool | None = None) -> Mending | None:
    """Return what a person may do for a package, or for one of its tools; None for nothing."""
    if package is None or not may_change(package, user):
        return None
    drifted = Tool.objects.filter(
        package=package, deleted_at=None, health_error__code=ExportDrift.code
    ).order_by("export_name", "pk")
    errors = (drifted.filter(pk=tool.pk) if tool else drifted).values_list(
        "health_error__extra", flat=True
    )
    return Mending(
        drifts=[{key: extra[key] for key in ("declared", "candidates")} for extra in errors],
        suggested=suggested_names(package),
        can_check=can_check(package) and (tool is None or _shows(package, tool)),
    )


def _shows(package: Package, tool: Tool) -> bool:
    """Tell whether a look can show that a tool is well again; a call may have to."""
    return asks_upstream(package) or tool.import_health == Health.BROKEN


@login_required
@require_POST
def package_repair_view(request: SignedInRequest, package_id: UUID) -> HttpResponse:
    """Bind a declared tool to the export that the person chose."""
    package = package_visible_to(request.user, package_id)
    declared, export = request.POST.get("declared", ""), request.POST.get("export", "")
    try:
        package_repair(package, declared=declared, export=export, user=request.user)
    except DomainError as error:
        return _back(request, package, error)
    when = _when(package)
    messages.success(request, f"“{declared}” is the export “{export}”{when or ' now'}.")
    return _back(request, package)


@login_required
@require_POST
def package_env(request: SignedInRequest, package_id: UUID) -> HttpResponse:
    """Let a package's tools read one more variable."""
    package = package_visible_to(request.user, package_id)
    name, required = request.POST.get("name", ""), request.POST.get("required") != "false"
    try:
        package_declare_env(package, [{"name": name, "required": required}], user=request.user)
    except DomainError as error:
        return _back(request, package, error)
    told = f"Its tools may read {name}{_when(package)}. Set your own value under Credentials."
    messages.success(request, told)
    return _back(request, package)


def _when(package: Package) -> str:
    """Say when what was just decided comes into use, where that is not at once."""
    staged = package.review_status == ReviewStatus.APPROVED and open_proposal_of(package)
    return " once a reviewer approves it" if staged else ""


@login_required
@require_http_methods(["GET", "POST"])
def package_check(request: SignedInRequest, package_id: UUID) -> HttpResponse:
    """Have a package looked at, and show how far that is until it was."""
    package = package_visible_to(request.user, package_id)
    if request.method == "POST":
        since = timezone.now()
        try:
            check_request(package, request.user)
        except DomainError as error:
            return _back(request, package, error)
    else:
        since = _time(request.GET.get("since", ""))
    if not wants_fragment(request):
        messages.info(request, "Its tools are being looked at. Load the page again in a moment.")
        return _back(request, package)
    schedule = schedule_of(package)
    if schedule.last_at and schedule.last_at >= since:
        return HttpResponseClientRefresh()
    waits = schedule.error is None and timezone.now() - since < PATIENCE
    look = Look(since=since.isoformat(), open=waits, error=schedule.error)
    return render(request, "registry/_check.html", {"package": package, "check": look})


def _time(text: str) -> datetime:
    """Read a time of ours; what is none counts as long ago, so that the page stops asking."""
    try:
        found = parse_datetime(text)
    except ValueError:
        found = None
    return found if found and timezone.is_aware(found) else timezone.now() - PATIENCE


def _back(
    request: SignedInRequest, package: Package, error: DomainError | None = None
) -> HttpResponse:
    """Return to the page that was left: that of the tool it was about, else the package's."""
    if error is not None and wants_fragment(request):
        raise error
    if error is not None:
        messages.error(request, f"{error.message} {error.hint}")
    tool = uuid_in(request.POST.get("tool", ""))
    if tool and Tool.objects.filter(pk=tool, package=package, deleted_at=None).exists():
        return redirect("registry:tool_detail", tool)
    return redirect("registry:package_detail", package.pk)
