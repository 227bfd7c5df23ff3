"""Personal API tokens: made once, recognised by their digest."""

import hashlib
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone

from agents.models import ApiToken
from config.lib.errors import InvalidInput
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
    "audit:read": "Read the audit, where you may: for governors and auditors",
    "chat": "Read your conversations and send messages",
}
"""What a token may be limited to; a token without scopes may do all that its owner may.

Besides these it may carry the scopes that tools require, whose names are free.
"""

_OWN = frozenset(scope.partition(":")[0] for scope in SCOPES)

SEEN_EVERY = timedelta(minutes=1)
"""How exact `last_used_at` is: a row is not written at every request."""


def token_create(
    user: User,
    *,
    name: str,
    scopes: Sequence[str] = (),
    expires_at: datetime | None = None,
) -> tuple[ApiToken, str]:
    """Make a token and return it with its text, which cannot be shown again."""
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
    token = (
        ApiToken.objects.filter(digest=_digest(text), user__is_active=True)
        .filter(Q(expires_at=None) | Q(expires_at__gt=now))
        .select_related("user")
        .first()
    )
    if token and (token.last_used_at is None or now - token.last_used_at > SEEN_EVERY):
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return token


def token_revoke(user: User, token_id: UUID) -> None:
    """Delete one of a person's tokens; it stops working at once."""
    ApiToken.objects.filter(user=user, pk=token_id).delete()


def _digest(text: str) -> str:
    # The text has 256 random bits, so a plain hash cannot be guessed backwards.
    return hashlib.sha256(text.encode()).hexdigest()
