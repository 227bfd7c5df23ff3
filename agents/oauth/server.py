"""The grants that are offered, and what each request for one has to hold."""

import re
from typing import Any

from oauthlib.common import Request
from oauthlib.oauth2 import (
    AuthorizationCodeGrant,
    AuthorizationEndpoint,
    BearerToken,
    ClientCredentialsGrant,
    RefreshTokenGrant,
    ResourceEndpoint,
    RevocationEndpoint,
    TokenEndpoint,
)
from oauthlib.oauth2.rfc6749.errors import InvalidRequestError

CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
"""What S256 makes of any verifier."""


class Server(
    AuthorizationEndpoint,  # type: ignore[misc]
    TokenEndpoint,  # type: ignore[misc]
    ResourceEndpoint,  # type: ignore[misc]
    RevocationEndpoint,  # type: ignore[misc]
):
    """Authorization code with PKCE, client credentials and refresh; nothing else exists."""

    def __init__(
        self,
        request_validator: Any,
        token_expires_in: Any = None,
        token_generator: Any = None,
        refresh_token_generator: Any = None,
        **_: Any,
    ) -> None:
        code = AuthorizationCodeGrant(request_validator)
        code.custom_validators.post_auth.append(require_s256)
        bearer = BearerToken(
            request_validator, token_generator, token_expires_in, refresh_token_generator
        )
        AuthorizationEndpoint.__init__(
            self,
            default_response_type="code",
            response_types={"code": code},
            default_token_type=bearer,
        )
        TokenEndpoint.__init__(
            self,
            default_grant_type="authorization_code",
            grant_types={
                "authorization_code": code,
                "client_credentials": ClientCredentialsGrant(request_validator),
                "refresh_token": RefreshTokenGrant(request_validator),
            },
            default_token_type=bearer,
        )
        ResourceEndpoint.__init__(self, default_token="Bearer", token_types={"Bearer": bearer})  # noqa: S106
        RevocationEndpoint.__init__(self, request_validator)


def require_s256(request: Request) -> dict[str, Any]:
    """Refuse every other form of PKCE before a person is asked; drop what OpenID alone reads."""
    if request.code_challenge_method != "S256" or not CHALLENGE.fullmatch(request.code_challenge):
        raise InvalidRequestError(
            description="Send code_challenge_method=S256 with a code_challenge of 43 characters.",
            request=request,
        )
    request.nonce = request.claims = None
    return {}
