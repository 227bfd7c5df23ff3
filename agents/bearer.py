"""Whoever comes with `Authorization: Bearer …`: a personal API token or an OAuth access token."""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.utils import timezone
from oauth2_provider.models import AccessToken

from agents.audiences import opens
from agents.models import Agent, OAuthClient
from agents.tokens import PREFIX, SEEN_EVERY, agent_scopes, token_of, tokens_working

_OWN, _OAUTH = "token:", "oauth:"
"""What the keys of personal tokens and of OAuth's begin with."""


@dataclass(frozen=True, kw_only=True)
class Bearer:
    """What a token that was recognised stands for.

    `scopes` of None means that it is not limited by scopes: it may do all that its person may. An
    OAuth token always has scopes. `agent_id` is the agent that the token acts as, for an agent's
    own client, and `agent_slug` its name in addresses. `token` is the text of an OAuth token, and
    empty for a personal one. `key` names the token in logs and counts, and does not give it away.
    """

    user: User
    scopes: frozenset[str] | None
    key: str
    token: str = ""
    agent_id: UUID | None = None
    agent_slug: str = ""
    client_id: str = ""

    @property
    def kind(self) -> str:
        """Return what the log tells callers apart by: agent, oauth or token (a personal one)."""
        if self.agent_id is not None:
            return "agent"
        return "oauth" if self.client_id else "token"

    def may(self, scope: str) -> bool:
        """Say whether the token carries a scope."""
        return self.scopes is None or scope in self.scopes


def bearer_of(text: str, *, resource: str = "") -> Bearer | None:
    """Return what this token stands for, or None when it is unknown, expired or revoked.

    `resource` is the address that it is shown to, or its path: an OAuth token that is meant for
    another audience (`agents.audiences`) is not recognised there.
    """
    if not text.startswith(PREFIX):
        return _bearer_by_oauth(text, resource)
    token = token_of(text)
    if token is None:
        return None
    scopes = frozenset(token.scopes) or None
    return Bearer(user=token.user, scopes=scopes, key=f"{_OWN}{token.pk}")


def access_token_of(text: str) -> AccessToken | None:
    """Return the living access token with this text, of a client that may use it.

    One query finds the token, its person, its client and that one's agent.
    """
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    token: AccessToken | None = (
        AccessToken.objects.filter(token_checksum=digest, expires__gt=timezone.now())
        .select_related("user", "application__user", "application__agent")
        .first()
    )
    return token if token is not None and _is_usable(token) else None


def keys_working(keys: Collection[str]) -> set[str]:
    """Return those of these `Bearer.key` whose tokens work now: two queries for any number."""
    own, others = ([key for key in keys if key.startswith(kind)] for kind in (_OWN, _OAUTH))
    tokens = AccessToken.objects.filter(
        pk__in=[key.removeprefix(_OAUTH) for key in others], expires__gt=timezone.now()
    ).select_related("user", "application__user", "application__agent")
    personal = tokens_working(key.removeprefix(_OWN) for key in own)
    return {f"{_OWN}{pk}" for pk in personal} | {
        f"{_OAUTH}{token.pk}" for token in tokens if _is_usable(token)
    }


def _is_usable(token: AccessToken) -> bool:
    """Say whether whoever a living token is of may use it: its client and its person."""
    if token.application is None or not token.application.is_usable(None):
        return False
    person = person_of(token)
    return person is not None and person.is_active


def person_of(token: AccessToken) -> User | None:
    """Return who a token acts for: its person or, of an agent's own client, the agent's owner."""
    user: User | None = token.user
    client = client_of(token)
    return client.user if user is None and client.agent is not None else user


def client_of(token: AccessToken) -> OAuthClient:
    """Return the client of a token; ours all have one."""
    client: OAuthClient | None = token.application
    if client is None:
        raise ValueError(f"{token} has no client.")
    return client


def scopes_in(token: AccessToken) -> frozenset[str]:
    """Return the scopes of a token; of those of an agent's client, what the agent still has."""
    scopes = frozenset(token.scope.split())
    agent: Agent | None = client_of(token).agent
    return scopes if agent is None else scopes.intersection(agent_scopes(agent.scopes))


def _bearer_by_oauth(text: str, resource: str) -> Bearer | None:
    token = access_token_of(text)
    if token is None or (resource and not opens(token.resource, resource)):
        return None
    user = person_of(token)
    if user is None:
        return None
    _note_use(token)
    client = client_of(token)
    return Bearer(
        user=user,
        scopes=scopes_in(token),
        key=f"{_OAUTH}{token.pk}",
        token=text,
        agent_id=client.agent_id,
        agent_slug=client.agent.slug if client.agent else "",
        client_id=client.client_id,
    )


def _note_use(token: AccessToken) -> None:
    """Write down that a token and its client were used, once a minute at most."""
    now, client = timezone.now(), client_of(token)
    if _is_long_ago(token.updated, now):
        AccessToken.objects.filter(pk=token.pk).update(updated=now)
    if _is_long_ago(client.last_used_at, now):
        OAuthClient.objects.filter(pk=client.pk).update(last_used_at=now)


def _is_long_ago(then: datetime | None, now: datetime) -> bool:
    return then is None or now - then > SEEN_EVERY
