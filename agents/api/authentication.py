"""`Authorization: Bearer <personal API token or OAuth access token>`."""

from django.contrib.auth.models import User
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from agents.bearer import Bearer, bearer_of, keys_working
from config.lib.api import rest_of
from config.lib.challenges import challenge
from config.lib.types import JsonObject

REFUSED = "This token is unknown, expired, revoked or for elsewhere."


class BearerAuthentication(BaseAuthentication):
    """Recognise a bearer token; leave every other header to the next class."""

    def authenticate(self, request: Request) -> tuple[User, Bearer] | None:
        """Return the token's person and what it stands for, or None when there is none."""
        kind, _, text = get_authorization_header(request).decode("latin-1").partition(" ")
        if kind.lower() != "bearer" or not text.strip():
            return None
        bearer = bearer_of(text.strip(), resource=rest_of(request))
        if bearer is None:
            raise AuthenticationFailed(REFUSED)
        return bearer.user, bearer

    def authenticate_header(self, request: Request) -> str:
        """Return the challenge of a 401; it says so where a token came that is no good."""
        sent = get_authorization_header(request).lower().startswith(b"bearer ")
        return challenge(rest_of(request), error="invalid_token" if sent else "")


def bearer_in(request: Request) -> Bearer | None:
    """Return what the token of a request stands for; None where somebody is signed in."""
    return request.auth if isinstance(request.auth, Bearer) else None


def require_working(request: Request) -> None:
    """Raise AuthenticationFailed where the token of a request no longer works that took long."""
    bearer = bearer_in(request)
    if bearer is not None and not keys_working({bearer.key}):
        raise AuthenticationFailed(REFUSED)


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Tell the OpenAPI document about the token."""

    target_class = BearerAuthentication
    name = "Bearer"

    def get_security_definition(self, auto_schema: object) -> JsonObject:
        """Return the OpenAPI security scheme."""
        return {"type": "http", "scheme": "bearer"}
