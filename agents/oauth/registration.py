"""Programs that register themselves (RFC 7591): the way for those that have no document.

Under the policy `governed` they wait until a governor has allowed them.
"""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from limits import RateLimitItemPerHour
from oauth2_provider import views
from oauth2_provider.models import AccessToken, Grant, RefreshToken

from agents.models import OAuthClient
from agents.models.oauth_client import ClientState
from agents.oauth.browsers import ForBrowsers
from config.lib.jsontext import clean_text, storable
from registry.limits import call_limits

AN_HOUR = RateLimitItemPerHour(30)
"""Registrations of whoever comes from one address."""

MOST_WAITING = 500
"""Programs that may wait at a time; until some were decided about, no other registers."""

KEPT_WAITING = timedelta(days=30)
MOST_BYTES = 16_384


class Registration(ForBrowsers):
    """What both views keep to; cookies count for nothing at either."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Refuse bodies that hold no object, or what no text may hold."""
        request.user = AnonymousUser()
        if request.method in {"POST", "PUT"} and (problem := _problem_in(request)):
            return refusal("invalid_client_metadata", problem)
        return super().dispatch(request, *args, **kwargs)


@method_decorator(never_cache, name="dispatch")
class RegisterView(Registration, views.DynamicClientRegistrationView):  # type: ignore[misc]
    """`POST /o/register`."""

    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Register a program of people's; before it was allowed, all it gets is an id."""
        address = request.META.get("REMOTE_ADDR") or ""
        wait = call_limits.take(AN_HOUR, "client-registration", address)
        if wait is not None:
            return _too_many("Too many programs register from this address.", round(wait) + 1)
        if waiting_clients().count() >= MOST_WAITING:
            return _too_many("Too many programs wait for a governor.", 3_600)
        return _registered(lambda: super(RegisterView, self).post(request))


@method_decorator(never_cache, name="dispatch")
class RegisteredView(Registration, views.DynamicClientRegistrationManagementView):  # type: ignore[misc]
    """`/o/register/<client id>` (RFC 7592): a program looks at itself, changes or withdraws."""

    http_method_names = ["get", "put", "delete", "options"]

    def put(self, request: HttpRequest, client_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        """Replace what the program said of itself; a governor then looks at it again."""
        return self._held(client_id, lambda: super(RegisteredView, self).put(request, client_id))

    @transaction.atomic
    def _held(self, client_id: str, change: Callable[[], HttpResponse]) -> HttpResponse:
        """Change a program that nobody else does: the toolkit writes all of it as it read it.

        What a governor decides in between would be undone.
        """
        if clean_text(client_id) == client_id:
            rows = OAuthClient.objects.select_for_update().filter(client_id=client_id)
            rows.values_list("pk").first()
        return _registered(change)


@transaction.atomic
def _registered(register: Callable[[], HttpResponse]) -> HttpResponse:
    """Carry a registration out, and let the program wait where the policy says so."""
    answer = register()
    if answer.status_code not in {200, 201}:
        return answer
    told = json.loads(answer.content)
    client = OAuthClient.objects.select_for_update().get(client_id=told["client_id"])
    if client.authorization_grant_type != OAuthClient.GRANT_AUTHORIZATION_CODE:
        transaction.set_rollback(True)
        return refusal(
            "invalid_client_metadata",
            "A program registers for authorization_code; an agent's own is made on its page.",
        )
    if settings.CLIENT_REGISTRATION == "governed" and client.state != ClientState.REFUSED:
        client.state, client.decided_by = ClientState.WAITING, None
        client.save(update_fields=["state", "decided_by"])
        _end_what_people_gave(client)
    told["client_id_issued_at"] = int(client.created.timestamp())
    if "client_secret" in told:
        told["client_secret_expires_at"] = 0
    return JsonResponse(told, status=answer.status_code)


def _end_what_people_gave(client: OAuthClient) -> None:
    """End its tokens, but for the one by which it changes its registration; that has no person."""
    Grant.objects.filter(application=client).delete()
    RefreshToken.objects.filter(application=client).delete()
    AccessToken.objects.filter(application=client, user__isnull=False).delete()


def waiting_clients() -> QuerySet[OAuthClient]:
    """Return the programs that wait for a governor, the oldest first."""
    return OAuthClient.objects.filter(state=ClientState.WAITING).order_by("created", "pk")


def forget_waiting() -> int:
    """Forget programs that nobody has decided about in 30 days; return how many they were."""
    old = waiting_clients().filter(created__lt=timezone.now() - KEPT_WAITING)
    return old.delete()[1].get("agents.OAuthClient", 0)


def refusal(error: str, description: str, status: int = 400) -> JsonResponse:
    """Return an error of RFC 7591."""
    return JsonResponse({"error": error, "error_description": description}, status=status)


def _too_many(description: str, seconds: int) -> JsonResponse:
    answer = refusal("temporarily_unavailable", description, 429)
    answer["Retry-After"] = str(seconds)
    return answer


def _problem_in(request: HttpRequest) -> str:
    if len(request.body) > MOST_BYTES:
        return f"Send at most {MOST_BYTES} bytes."
    try:
        told = json.loads(request.body)
    except (ValueError, RecursionError):
        return "Send a JSON object."
    if not isinstance(told, dict) or storable(told) != told:
        return "Send a JSON object, of texts that can be stored."
    if not isinstance(told.get("client_name", ""), str):
        return "client_name must be a text."
    return ""
