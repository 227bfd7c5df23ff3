"""The start page, and what probes ask."""

from dataclasses import asdict

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from config.dashboard import dashboard_of
from config.readiness import checks


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Show the dashboard, or to a stranger what this is."""
    if not request.user.is_authenticated:
        return render(request, "landing.html")
    return render(request, "home.html", {"dashboard": dashboard_of(request.user)})


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
