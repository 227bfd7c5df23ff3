"""Values that a client sends with a message, for the tools of that conversation.

They are kept sealed in the cache, for some hours, and in no row: a program that talks to an agent
on behalf of many people brings their keys along instead of storing them as credentials.
"""

import json
from collections.abc import Mapping, Sequence
from uuid import UUID

from django.core.cache import cache

from agents.credentials import reveal, seal
from agents.models import Credential
from registry.context import Env

KEPT_SECONDS = 12 * 3600


def variables_remember(conversation_id: UUID, values: Mapping[str, str]) -> None:
    """Add values to those the conversation has; a newer value wins."""
    if values:
        sealed = seal(json.dumps({**_values(conversation_id), **values}))
        cache.set(_key(conversation_id), sealed, KEPT_SECONDS)


def env_with_variables(conversation_id: UUID, stored: Env) -> Env:
    """Return the function that reads the conversation's values, and `stored` for all others."""

    def read(names: Sequence[str]) -> Mapping[str, str]:
        sent = _values(conversation_id)
        return {**stored(names), **{name: sent[name] for name in names if name in sent}}

    return read


def _values(conversation_id: UUID) -> dict[str, str]:
    sealed = cache.get(_key(conversation_id))
    if sealed is None:
        return {}
    name = "The variables of the conversation"
    values: dict[str, str] = json.loads(reveal(Credential(name=name, ciphertext=sealed)))
    return values


def _key(conversation_id: UUID) -> str:
    return f"chat-variables:{conversation_id}"
