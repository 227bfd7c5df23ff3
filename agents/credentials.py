"""Secrets: sealed when stored, opened only for the call that needs them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from django.contrib.auth.models import User
from django.db.models import F, Q, QuerySet

from agents.models import Agent, Credential
from config.lib.errors import DomainError, InvalidInput
from config.lib.jsontext import clean_text
from config.lib.sealing import NotOpenedError, open_sealed
from registry.context import Env


class CredentialUnreadable(DomainError):
    """A stored credential cannot be opened with the present encryption keys."""

    code = "credential_unreadable"
    status = 409


ENV_NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")
LONGEST_SECRET = 10_000


def require_variable(name: str, value: str) -> None:
    """Raise InvalidInput for a name that no variable can have, or a value that none can hold."""
    if not ENV_NAME.fullmatch(name):
        raise InvalidInput(
            f"“{name[:100]}” is not a variable name.",
            "Use capital letters, digits and underscores, as in EXA_API_KEY.",
        )
    if not 1 <= len(value) <= LONGEST_SECRET or value != clean_text(value):
        raise InvalidInput(
            f"A value has 1 to {LONGEST_SECRET:,} characters.", "Paste the key again."
        )


def revealed(name: str, sealed: bytes | None) -> str:
    """Open the sealed value of a variable, or raise CredentialUnreadable."""
    try:
        return open_sealed(sealed or b"")
    except NotOpenedError:
        raise CredentialUnreadable(
            f"{name} cannot be decrypted: its key is no longer among OUTFITTER_ENCRYPTION_KEYS.",
            "Set the value again, or bring the old key back.",
        ) from None


def reveal(credential: Credential) -> str:
    """Decrypt a credential, or raise CredentialUnreadable."""
    return revealed(credential.name, credential.ciphertext)


def known_values(user: User, agent: Agent | None) -> list[str]:
    """Return all values that calls of this person and agent may read, to be put out of sight.

    One that cannot be opened cannot appear anywhere either, so it is left out.
    """
    return opened(known_sealed(user, agent))


def known_sealed(user: User, agent: Agent | None) -> "QuerySet[Credential, tuple[Any, ...]]":
    """Return the sealed values of `known_values`, as `(name, ciphertext)`."""
    return _found(user, agent).order_by().values_list("name", "ciphertext")


def opened(sealed: Iterable[tuple[Any, ...]]) -> list[str]:
    """Open sealed values, given as `(name, ciphertext)`; those that cannot be are left out."""
    values = []
    for name, ciphertext in sealed:
        with suppress(CredentialUnreadable):
            values.append(revealed(name, ciphertext))
    return values


def env_of(user: User, agent: Agent | None) -> Env:
    """Return the function that reads a person's credentials anew at each call.

    The agent's own value wins over the person's.
    """

    def read(names: Sequence[str]) -> Mapping[str, str]:
        values: dict[str, str] = {}
        for credential in _found(user, agent).filter(name__in=names):
            values[credential.name] = reveal(credential)
        return values

    return read


def _found(user: User, agent: Agent | None) -> QuerySet[Credential]:
    where = Q(agent=None) | Q(agent=agent) if agent else Q(agent=None)
    return (
        Credential.objects.filter(where, owner=user)
        # a person's own values first, so that the agent's overwrite them
        .order_by(F("agent").asc(nulls_first=True), "pk")
    )
