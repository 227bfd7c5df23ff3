"""Make any JSON value fit to be stored, shown and sent."""

import json
import math
from collections.abc import Iterable
from typing import Any

from config.lib.types import JsonValue

MASK = "••••••"
SHORTEST_SECRET = 4
"""Shorter values are not masked: they would blot out half of every text and hide nothing."""


def clean_text(text: str) -> str:
    """Replace what PostgreSQL cannot hold: NUL and lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")


def storable(value: Any) -> JsonValue:
    """Return `value` as plain JSON that PostgreSQL accepts; numbers JSON lacks become null."""
    match value:
        case None | bool() | int():
            return value
        case float():
            return value if math.isfinite(value) else None
        case str():
            return clean_text(value)
        case dict():
            return {clean_text(str(key)): storable(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [storable(item) for item in value]
        case _:
            return clean_text(str(value))


def mask(value: JsonValue, secrets: Iterable[str]) -> JsonValue:
    """Return `value` with every occurrence of a secret, in keys too, put out of sight."""
    hidden = sorted({s for s in secrets if len(s) >= SHORTEST_SECRET}, key=len, reverse=True)
    return _masked(value, hidden) if hidden else value


def _masked(value: JsonValue, hidden: list[str]) -> JsonValue:
    match value:
        case str():
            for secret in hidden:
                value = value.replace(secret, MASK)
            return value
        case dict():
            return {_masked(key, hidden): _masked(item, hidden) for key, item in value.items()}
        case list():
            return [_masked(item, hidden) for item in value]
        case _:
            return value


def size_of(value: JsonValue) -> int:
    """Return the size of `value` as JSON, in bytes of UTF-8."""
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def shortened(value: JsonValue, limit: int) -> JsonValue:
    """Return `value`, or where it is over `limit` bytes, `{truncated, bytes, preview}`."""
    text = json.dumps(value, ensure_ascii=False)
    size = len(text.encode("utf-8", "replace"))
    if size <= limit:
        return value
    return {"truncated": True, "bytes": size, "preview": text[: limit // 4]}
