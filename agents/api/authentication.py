"""`Authorization: Bearer <personal API token>`."""

from django.contrib.auth.models import User
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from agents.models import ApiToken
from agents.tokens import PREFIX, token_of
from config.lib.types import JsonObject


class ApiTokenAuthentication(BaseAuthentication):
    """Recognise a personal API token; leave every other header to the next class."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        """Return the token's person and the token, or None when there is none."""
        kind, _, text = get_authorization_header(request).decode("latin-1").partition(" ")
        if kind.lower() != "bearer" or not text.startswith(PREFIX):
            return None
        token = token_of(text.strip())
        if token is None:
            raise AuthenticationFailed("This API token is unknown, expired or revoked.")
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        """Return the challenge of a 401."""
        return 'Bearer realm="outfitter"'


class ApiTokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Tell the OpenAPI document about the token."""

    target_class = ApiTokenAuthentication
    name = "ApiToken"

    def get_security_definition(self, auto_schema: object) -> JsonObject:
        """Return the OpenAPI security scheme."""
        return {"type": "http", "scheme": "bearer"}
