"""`/metrics`, for a Prometheus server."""

import hmac
import os
from ipaddress import ip_address

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST

from registry.metrics import exposition

FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP")


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Give the metrics to who may read them; everybody else learns how to be let in."""
    if not _allowed(request):
        message = "The metrics are not for everybody."
        hint = "Send METRICS_TOKEN as a bearer token; without one set, ask from this machine."
        body = {"error": {"code": "permission_denied", "message": message, "hint": hint}}
        return JsonResponse(body, status=403)
    return HttpResponse(exposition(), content_type=CONTENT_TYPE_LATEST)


def _allowed(request: HttpRequest) -> bool:
    token = os.environ.get("METRICS_TOKEN", "")
    if token:
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        same = hmac.compare_digest(given.strip().encode(), token.encode())
        return scheme.lower() == "bearer" and same
    # A proxy on this machine asks for strangers too.
    if any(request.META.get(header) for header in FORWARDED):
        return False
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False
