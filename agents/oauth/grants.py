"""The programs that a person has let in: what each may do, and taking that back."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from oauth2_provider.models import AccessToken

from agents.bearer import client_of
from agents.models import OAuthClient
from agents.oauth.clients import end_tokens
from config.lib.errors import NotFound


@dataclass(frozen=True, kw_only=True)
class Grant:
    """What one program may do for a person now."""

    client: OAuthClient
    scopes: tuple[str, ...]
    resources: tuple[str, ...]
    since: datetime
    last_used_at: datetime


def grants_of(user: User) -> list[Grant]:
    """Return the programs that hold a token of this person, or can get one; newest use first."""
    by_client: dict[int, list[AccessToken]] = {}
    for token in _living(user).select_related("application"):
        by_client.setdefault(client_of(token).pk, []).append(token)
    grants = [_grant(tokens) for tokens in by_client.values()]
    return sorted(grants, key=attrgetter("last_used_at"), reverse=True)


@transaction.atomic
def grant_revoke(user: User, client_id: int) -> None:
    """Take back all that a program may do for a person; raise NotFound where it may nothing."""
    token = _living(user).filter(application_id=client_id).first() if client_id < 2**63 else None
    if token is None:
        raise NotFound("You have let in no such program.", "See your connected programs.")
    end_tokens(client_of(token), user)


def _living(user: User) -> QuerySet[AccessToken]:
    """Return tokens that work, and such as can be made to work again by refreshing."""
    now = timezone.now()
    kept = timedelta(seconds=settings.REFRESH_TOKEN_SECONDS)
    refreshable = Q(refresh_token__revoked=None, refresh_token__isnull=False)
    return AccessToken.objects.filter(
        Q(expires__gt=now) | (refreshable & Q(expires__gt=now - kept)),
        user=user,
        application__isnull=False,
        application__agent=None,
    ).order_by("pk")


def _grant(tokens: list[AccessToken]) -> Grant:
    return Grant(
        client=client_of(tokens[0]),
        scopes=_all(token.scope.split() for token in tokens),
        resources=_all(token.resource for token in tokens),
        since=min(token.created for token in tokens),
        last_used_at=max(token.updated for token in tokens),
    )


def _all(lists: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(sorted({item for items in lists for item in items}))
