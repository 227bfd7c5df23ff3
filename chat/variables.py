"""Values for the tools of one conversation: set in its side panel, or sent with a message.

They win over the agent's and the person's credentials. They are sealed, they expire, and they are
read anew at each call, so that a new value counts from the next call on.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from agents.credentials import (
    ENV_NAME,
    known_sealed,
    opened,
    require_variable,
    revealed,
)
from chat.models import Conversation, ConversationSecret
from config.lib.errors import InvalidInput
from config.lib.sealing import seal
from registry.context import Env

MOST_VARIABLES = 50
"""Variables that one conversation may have."""


@transaction.atomic
def variables_remember(conversation: Conversation, values: Mapping[str, str]) -> None:
    """Set variables of a conversation; a newer value takes the place of an older one.

    Raises InvalidInput for a bad name or value, and for more variables than a conversation may
    have; nothing is set then.
    """
    if not values:
        return
    for name, value in values.items():
        require_variable(name, value)
    Conversation.objects.select_for_update().get(pk=conversation.pk)
    present = variables_of(conversation)
    if len(values.keys() | {secret.name for secret in present}) > MOST_VARIABLES:
        raise InvalidInput(
            f"A conversation has at most {MOST_VARIABLES} variables.", "Remove some first."
        )
    now = timezone.now()
    expired(conversation).delete()
    present.filter(name__in=values).update(replaced_at=now)
    expires = now + timedelta(hours=settings.CONVERSATION_VALUES_HOURS)
    ConversationSecret.objects.bulk_create(
        ConversationSecret(
            conversation=conversation, name=name, ciphertext=seal(value), expires_at=expires
        )
        for name, value in values.items()
    )


def variable_forget(conversation: Conversation, name: str) -> None:
    """Remove a variable from a conversation, with the values that it had before."""
    if ENV_NAME.fullmatch(name):
        ConversationSecret.objects.filter(conversation=conversation, name=name).delete()


def variables_of(conversation: Conversation) -> QuerySet[ConversationSecret]:
    """Return the variables of a conversation that are set now, without their values."""
    return _set_now(conversation.pk).defer("ciphertext").order_by("name", "pk")


def expired(conversation: Conversation | None = None) -> QuerySet[ConversationSecret]:
    """Return the values whose time is over, of one conversation or of all."""
    rows = ConversationSecret.objects.filter(expires_at__lte=timezone.now())
    return rows.filter(conversation=conversation) if conversation else rows


def env_with_variables(conversation_id: UUID, stored: Env) -> Env:
    """Return the function that reads the conversation's values, and `stored` for all others."""

    def read(names: Sequence[str]) -> Mapping[str, str]:
        rows = _set_now(conversation_id).filter(name__in=names)
        own = {row.name: revealed(row.name, row.ciphertext) for row in rows}
        others = [name for name in names if name not in own]
        return {**(stored(others) if others else {}), **own}

    return read


def known_in(conversation: Conversation) -> list[str]:
    """Return the values that tools of this conversation may read, or could before they changed."""
    stored = known_sealed(conversation.user, conversation.agent)
    own = ConversationSecret.objects.filter(
        conversation=conversation, expires_at__gt=timezone.now()
    ).values_list("name", "ciphertext")
    return opened(stored.union(own, all=True))  # one query: everything that is said asks for it


def _set_now(conversation_id: UUID) -> QuerySet[ConversationSecret]:
    return ConversationSecret.objects.filter(
        conversation_id=conversation_id, replaced_at=None, expires_at__gt=timezone.now()
    )
