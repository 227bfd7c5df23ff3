"""Personal API tokens: made once, recognised by their digest."""

import hashlib
import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone

from agents.models import ApiToken
from config.lib.errors import InvalidInput
from config.lib.prepared import Worded
from registry.scopes import scope_problems

PREFIX = "oft_"
SHOWN = 12
"""Characters of a token that are kept readable, to tell tokens apart."""

SCOPES = {
    "tools:read": "See tools, packages, their history and your runs, and search for them",
    "tools:run": "Run tools and sequences; cancel and retry your runs",
    "tools:write": "Create, change and delete your own tools; import packages",
    "agents:read": "See your agents and what they use",
    "agents:write": "Create, change and delete your agents and their tool links",
    "events:read": "See your event subscriptions and what was sent to them",
    "events:write": "Make, change and delete event subscriptions; send events again",
    "discovery:register": "Register your own HTTP tools while everything runs, and unregister them",
    "audit:read": "Read the audit, where you may: for governors and auditors",
    "chat": "Read your conversations and send messages",
}
"""What a token may be limited to; a token without scopes may do all that its owner may.

Besides these it may carry the scopes that tools require, whose names are free.
"""

NOT_FOR_AGENTS = frozenset({"agents:write", "audit:read", "chat", "events:read", "events:write"})
"""Our scopes that an agent's own client cannot have: they lead beyond the agent.

It would change what it may do itself, have another agent of its owner do what it may not, or hear
of all that its owner runs.
"""

_OWN = frozenset(scope.partition(":")[0] for scope in SCOPES)

SEEN_EVERY = timedelta(minutes=1)
"""How exact `last_used_at` is: a row is not written at every request."""


def agent_scopes(granted: Iterable[str]) -> list[str]:
    """Return what an agent's own client may have, of an agent with these scopes."""
    return sorted({*granted, *SCOPES} - NOT_FOR_AGENTS)


def token_create(
    user: User,
    *,
    name: str,
    scopes: Sequence[str] = (),
    expires_at: datetime | None = None,
    within: datetime | None = None,
) -> tuple[ApiToken, str]:
    """Make a token and return it with its text, which cannot be shown again.

    It expires no later than `within`, when whatever asks for it does.
    """
    if within is not None:
        expires_at = min(expires_at or within, within)
    further = sorted(set(scopes) - SCOPES.keys())
    # What looks like one of the product's own is a slip, and would let the token do nothing.
    unknown = [scope for scope in further if scope.partition(":")[0] in _OWN]
    if unknown:
        raise InvalidInput(
            f"There is no scope {', '.join(unknown)}.", f"Scopes: {', '.join(SCOPES)}."
        )
    if problems := scope_problems(further):
        raise InvalidInput(problems[0], "Write it as the tool's page does.")
    if not name.strip():
        raise InvalidInput("A token needs a name.", "Name it after the program that will use it.")
    if expires_at is not None and expires_at <= timezone.now():
        raise InvalidInput("The expiry lies in the past.", "Choose a later day, or none.")
    text = PREFIX + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        user=user,
        name=name.strip()[:80],
        prefix=text[:SHOWN],
        digest=_digest(text),
        scopes=sorted(set(scopes)),
        expires_at=expires_at,
    )
    return token, text


def token_of(text: str) -> ApiToken | None:
    """Return the living token with this text, of an active person, and note that it was used."""
    now = timezone.now()
    token = next(iter(_living.all(_digest(text), now)), None)
    if token and (token.last_used_at is None or now - token.last_used_at > SEEN_EVERY):
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return token


def tokens_working(ids: Iterable[str]) -> set[UUID]:
    """Return the ids of those of these tokens that work now."""
    rows = ApiToken.objects.filter(_unexpired(), pk__in=list(ids), user__is_active=True)
    return set(rows.values_list("pk", flat=True))


def _unexpired() -> Q:
    return Q(expires_at=None) | Q(expires_at__gt=timezone.now())


def expiry_of(user: User, key: str) -> datetime | None:
    """Return when the personal token expires that a Bearer's `key` names, None where never."""
    kind, _, number = key.partition(":")
    if kind != "token":
        return None
    return (
        ApiToken.objects.filter(user=user, pk=number).values_list("expires_at", flat=True).first()
    )


_living = Worded(
    lambda: (
        ApiToken.objects.filter(digest="", user__is_active=True)
        .filter(_unexpired())
        .select_related("user")
    )
)
"""Tokens by digest and time; every request that comes with one asks."""


def token_revoke(user: User, token_id: UUID) -> None:
    """Delete one of a person's tokens; it stops working at once."""
    ApiToken.objects.filter(user=user, pk=token_id).delete()


def _digest(text: str) -> str:
    # The text has 256 random bits, so a plain hash cannot be guessed backwards.
    return hashlib.sha256(text.encode()).hexdigest()
