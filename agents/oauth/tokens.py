"""Get a token, give one back, ask about one."""

from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from oauth2_provider import views

from agents.audiences import origin_at
from agents.bearer import access_token_of, client_of, person_of, scopes_in
from agents.oauth.browsers import ForBrowsers


@method_decorator(never_cache, name="dispatch")
class TokenView(ForBrowsers, views.TokenView):  # type: ignore[misc]
    """`POST /o/token`."""

    http_method_names = ["post", "options"]

    @method_decorator(transaction.atomic)
    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Answer with a token or with an error of RFC 6749."""
        answer: HttpResponse = self.authorization_flow_token_response(request)
        answer["Content-Type"] = "application/json"  # the toolkit forgets it with some errors
        return answer


class RevokeView(ForBrowsers, views.RevokeTokenView):  # type: ignore[misc]
    """`POST /o/revoke_token` (RFC 7009)."""

    http_method_names = ["post", "options"]


@method_decorator(never_cache, name="dispatch")
class IntrospectView(ForBrowsers, views.IntrospectTokenView):  # type: ignore[misc]
    """`POST /o/introspect` (RFC 7662), for clients that have a secret."""

    http_method_names = ["post", "options"]

    def verify_request(self, request: HttpRequest) -> tuple[bool, None]:
        """Take no access token in place of the client's own secret."""
        return False, None

    def unauthenticated_response(
        self, request: HttpRequest, oauthlib_request: Any = None
    ) -> HttpResponse:
        """Say that a client has to authenticate, and how."""
        answer = JsonResponse({"error": "invalid_client"}, status=401)
        answer["WWW-Authenticate"] = 'Basic realm="outfitter"'
        return answer

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Tell what a token stands for now; one that does not work is not active, and no more."""
        text = request.POST.get("token", "")
        if not text:
            return JsonResponse(
                {"error": "invalid_request", "error_description": "Send the token."}, status=400
            )
        token = access_token_of(text)
        person = person_of(token) if token is not None else None
        if token is None or person is None:
            return JsonResponse({"active": False})
        return JsonResponse(
            {
                "active": True,
                "scope": " ".join(sorted(scopes_in(token))),
                "client_id": client_of(token).client_id,
                "username": person.get_username(),
                "sub": str(person.pk),
                "token_type": "Bearer",
                "exp": int(token.expires.timestamp()),
                "iat": int(token.created.timestamp()),
                "aud": token.resource,
                "iss": origin_at(request.scheme or "http", request.get_host()),
            }
        )
