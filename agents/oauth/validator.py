"""The rules of this server, where the toolkit leaves them to us."""

import hashlib
from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

from django.http import HttpRequest
from oauth2_provider.models import AccessToken, Grant, RefreshToken
from oauth2_provider.oauth2_validators import OAuth2Validator
from oauthlib.common import Request
from oauthlib.oauth2.rfc6749.errors import CustomOAuth2Error

from agents.audiences import MCP, agent_of, canonical, default_audiences, origin_at
from agents.models import OAuthClient
from agents.oauth.clients import client_held
from agents.oauth.scopes import free_scopes
from agents.tokens import SCOPES, agent_scopes
from config.lib.jsontext import clean_text

LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
"""When a code expired that was used: no clock takes it for a good one."""


class Validator(OAuth2Validator):  # type: ignore[misc]
    """Adds: scopes of tools, audiences of ours, and nothing for people who left."""

    def _load_application(self, client_id: str, request: Request) -> OAuthClient | None:
        """Find a client, but by no id that the database cannot hold (Basic may carry any)."""
        if client_id and client_id != clean_text(client_id):
            return None
        found: OAuthClient | None = super()._load_application(client_id, request)
        return found

    def validate_scopes(
        self, client_id: str, scopes: list[str], client: OAuthClient, request: Request, *_: Any
    ) -> bool:
        """Allow our own scopes and those that tools require; an agent's client, its agent's."""
        asked = set(scopes)
        if client.agent is not None:
            return asked <= set(agent_scopes(client.agent.scopes))
        further = asked - SCOPES.keys()
        return not further or further == free_scopes(further)

    def validate_grant_type(
        self, client_id: str, grant_type: str, client: OAuthClient, request: Request, *_: Any
    ) -> bool:
        """Say whether the client may ask this way; from here on its requests come one by one.

        So nobody uses a code or a refresh token twice at once, and what ends a client's tokens
        (`end_tokens`) does not cross with what makes some. What decides is read again.
        """
        now = client_held(client.pk)
        if now is None or not now.is_usable(request) or now.client_secret != client.client_secret:
            return False
        return bool(super().validate_grant_type(client_id, grant_type, client, request))

    def validate_code(
        self, client_id: str, code: str, client: OAuthClient, request: Request, *_: Any
    ) -> bool:
        """Recognise a code, unless its person was deactivated meanwhile.

        One that was used before gives nothing, and ends all that it has given (RFC 6749, 4.1.2):
        whoever used it first may have stolen it.
        """
        known = super().validate_code(client_id, code, client, request)
        if not known and Grant.objects.filter(code=code, application=client).exists():
            RefreshToken.revoke_family(family_of(code))
        return bool(known and request.user.is_active)

    def invalidate_authorization_code(
        self, client_id: str, code: str, request: Request, *_: Any
    ) -> None:
        """Have a code expire; its row stays until the next cleaning, to be known if it returns."""
        Grant.objects.filter(code=code, application=request.client).update(expires=LONG_AGO)

    def _create_refresh_token(
        self,
        request: Request,
        refresh_token_code: str,
        access_token: AccessToken,
        previous_refresh_token: RefreshToken | None,
    ) -> RefreshToken:
        """Make a refresh token; the first has a family that is found again by its code."""
        made: RefreshToken = super()._create_refresh_token(
            request, refresh_token_code, access_token, previous_refresh_token
        )
        if request.grant_type == "authorization_code":
            made.token_family = family_of(request.code)
            made.save(update_fields=["token_family"])
        return made

    def revoke_token(
        self, token: str, token_type_hint: str | None, request: Request, *_: Any
    ) -> None:
        """End a token and, of a refresh token, all that came of the same consent (RFC 7009, 2.1).

        One that was refreshed already, by whomever, ends what it was refreshed to.
        """
        digest = hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
        mine = RefreshToken.objects.filter(token_checksum=digest, application=request.client)
        families = set(mine.values_list("token_family", flat=True))
        super().revoke_token(token, token_type_hint, request)
        for family in families:
            RefreshToken.revoke_family(family)

    def validate_refresh_token(
        self, refresh_token: str, client: OAuthClient, request: Request, *_: Any, **named: Any
    ) -> bool:
        """Recognise a refresh token, unless its person was deactivated meanwhile."""
        known = super().validate_refresh_token(refresh_token, client, request)
        return bool(known and request.user.is_active)

    def _check_and_set_request_resource(self, request: Request) -> None:
        """Take the resources that the client names, or those that it has without naming any."""
        named = [v for key, v in request.decoded_body or () if key == "resource" and v.strip()]
        request.resource = audiences_named(request, named, request.client)
        super()._check_and_set_request_resource(request)
        if not request.resource:
            agent = request.client.agent
            slug = agent.slug if agent else ""
            request.resource = default_audiences(origin_of(request), slug)


def audiences_named(request: Request, named: list[str], client: OAuthClient) -> list[str]:
    """Return the resources as they are written on tokens; raise `invalid_target` otherwise."""
    origin = origin_of(request)
    found = []
    for address in named:
        resource = canonical(address, origin)
        if resource is None:
            raise invalid_target("It is none of this server's resources.", request)
        agent = client.agent
        if agent and resource.startswith(origin + MCP) and agent_of(resource) != agent.slug:
            raise invalid_target(f"This client is that of the agent {agent.slug}.", request)
        found.append(resource)
    return sorted(set(found))


def invalid_target(description: str, request: Request) -> CustomOAuth2Error:
    """Return the error of RFC 8707; it names no address, for it may be shown to people."""
    return CustomOAuth2Error(
        error="invalid_target", description=description, state=request.state, request=request
    )


def origin_of(request: Request) -> str:
    """Return the scheme and host that a request of oauthlib's came to."""
    asked = HttpRequest()
    asked.META = request.headers
    secure = "X_DJANGO_OAUTH_TOOLKIT_SECURE" in request.headers
    return origin_at("https" if secure else "http", asked.get_host())


def family_of(code: str) -> UUID:
    """Return the name that all tokens have in common which came of a code."""
    return uuid5(NAMESPACE_OID, code)
