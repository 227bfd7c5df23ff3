"""Seal values that are kept: Fernet, with keys that can be changed.

The first of `OUTFITTER_ENCRYPTION_KEYS` seals, all of them open. Every model field that holds a
sealed value is a `SealedField`, by which `manage.py rotate_keys` and `doctor` find it.
"""

from functools import cache
from typing import TYPE_CHECKING, Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db import models

if TYPE_CHECKING:
    Bytes = models.BinaryField[bytes | None, bytes | None]
else:
    Bytes = models.BinaryField


class NotOpenedError(Exception):
    """None of the present keys opens the value."""


class SealedField(Bytes):
    """Holds what `seal` returned.

    A model with one names its values by `sealed_name`: which it is and whose, without the value.
    For the database and for migrations it is a plain BinaryField.
    """

    def deconstruct(self) -> tuple[str, str, Any, Any]:
        """Describe the field to migrations."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.BinaryField", args, kwargs


def seal(value: str) -> bytes:
    """Encrypt a value with the newest key."""
    return _keys(tuple(settings.ENCRYPTION_KEYS)).encrypt(value.encode())


def open_sealed(sealed: bytes) -> str:
    """Decrypt a value, or raise NotOpenedError."""
    try:
        return _keys(tuple(settings.ENCRYPTION_KEYS)).decrypt(bytes(sealed)).decode()
    except InvalidToken:
        raise NotOpenedError from None


def has_newest_key(sealed: bytes) -> bool:
    """Tell whether a value was sealed with the newest key."""
    try:
        Fernet(settings.ENCRYPTION_KEYS[0]).decrypt(bytes(sealed))
    except InvalidToken:
        return False
    return True


@cache
def _keys(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])
