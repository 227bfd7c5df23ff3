"""The start page, and what probes ask."""

from dataclasses import asdict

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django.views.defaults import page_not_found

from config.dashboard import dashboard_of
from config.lib.errors import NotFound
from config.lib.htmx import render_page
from config.lib.http import SignedInRequest
from config.palette import palette_of
from config.readiness import checks, status_of


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Show the dashboard, or to a stranger what this is."""
    if not request.user.is_authenticated:
        return render(request, "landing.html")
    return render(request, "home.html", {"dashboard": dashboard_of(request.user)})


@login_required
@require_safe
@never_cache
def palette(request: SignedInRequest) -> HttpResponse:
    """Show where a person may want to go, in the command palette or on a page of its own."""
    text = request.GET.get("q", "")
    groups = palette_of(request.user, text)
    context = {"groups": groups, "text": text, "count": sum(len(each.entries) for each in groups)}
    return render_page(request, "palette.html", context, fragment="components/palette_results.html")


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """Say that the process lives."""
    return JsonResponse({"status": "ok"})


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """Say of each part whether it is ready: 503 when one is not that is needed, else 200."""
    found = checks()
    status = status_of(found)
    body = {"status": status, "checks": [asdict(check) for check in found]}
    return JsonResponse(body, status=503 if status == "unavailable" else 200)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Say that there is no such address: to a program that looks for tools as JSON."""
    if request.path_info.startswith("/discovery/") and not _wants_page(request):
        hint = "The list is GET /discovery/ for people, GET /api/v1/discovery/ for programs."
        return JsonResponse(NotFound("There is no such address.", hint).as_dict(), status=404)
    return page_not_found(request, exception)


def _wants_page(request: HttpRequest) -> bool:
    return "text/html" in request.headers.get("Accept", "")
