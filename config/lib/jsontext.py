"""Make any JSON value fit to be stored, shown and sent."""

import json
import math
from typing import Any

from config.lib.types import JsonValue


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


def schema_type(value: JsonValue) -> str:
    """Return the name that JSON Schema has for the type of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"
