"""The start page, and what probes ask."""

from dataclasses import asdict

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from config.dashboard import dashboard_of
from config.lib.htmx import render_page
from config.lib.http import SignedInRequest
from config.palette import palette_of
from config.readiness import checks


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
    """Say of each part whether it is ready: 200 when all are, else 503."""
    found = checks()
    ok = all(check.ok for check in found)
    body = {"status": "ok" if ok else "unavailable", "checks": [asdict(check) for check in found]}
    return JsonResponse(body, status=200 if ok else 503)
