"""Secrets: sealed when stored, opened only for the call that needs them."""

from collections.abc import Mapping, Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import F, Q, QuerySet

from agents.models import Agent, Credential
from config.lib.errors import DomainError
from registry.context import Env


class CredentialUnreadable(DomainError):
    """A stored credential cannot be opened with the present encryption keys."""

    code = "credential_unreadable"
    status = 409


def _keys() -> MultiFernet:
    return MultiFernet([Fernet(key) for key in settings.ENCRYPTION_KEYS])


def seal(value: str) -> bytes:
    """Encrypt a value with the newest key."""
    return _keys().encrypt(value.encode())


def reveal(credential: Credential) -> str:
    """Decrypt a credential, or raise CredentialUnreadable."""
    try:
        return _keys().decrypt(bytes(credential.ciphertext)).decode()
    except InvalidToken:
        raise CredentialUnreadable(
            f"{credential.name} cannot be decrypted: its key is no longer among "
            "OUTFITTER_ENCRYPTION_KEYS.",
            "Set the value again, or bring the old key back.",
        ) from None


def env_of(user: User, agent: Agent | None) -> Env:
    """Return the function that reads a person's credentials anew at each call.

    The agent's own value wins over the person's.
    """

    def read(names: Sequence[str]) -> Mapping[str, str]:
        values: dict[str, str] = {}
        for credential in _found(user, agent, names):
            values[credential.name] = reveal(credential)
        return values

    return read


def _found(user: User, agent: Agent | None, names: Sequence[str]) -> QuerySet[Credential]:
    where = Q(agent=None) | Q(agent=agent) if agent else Q(agent=None)
    return (
        Credential.objects.filter(where, owner=user, name__in=names)
        # a person's own values first, so that the agent's overwrite them
        .order_by(F("agent").asc(nulls_first=True), "pk")
    )
