"""Pictures and sounds in a tool's answer: for people to see and hear, in words for a model.

They are content blocks as MCP has them, `{type: image|audio, data: base64, mimeType}`, in a list
called `content`, which may stand inside of other values: the output of a sequence has those of its
steps.
"""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from config.lib.types import JsonObject, JsonValue

TYPES = {
    "image": {"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"},
    "audio": {
        *("audio/wav", "audio/x-wav", "audio/wave", "audio/mpeg", "audio/mp3", "audio/ogg"),
        *("audio/webm", "audio/mp4", "audio/aac", "audio/flac"),
    },
}
"""What browsers show and play, and what cannot hold a script."""

MOST_ITEMS = 20
DEEPEST = 12
"""Levels of an answer that are looked through."""

MEDIA_BUDGET = 1_000_000
"""Bytes of base64 of one answer that are kept for showing."""


@dataclass(frozen=True, kw_only=True)
class Media:
    """One picture or sound; `size` is in bytes."""

    kind: Literal["image", "audio"]
    media_type: str
    size: int
    data: str

    @property
    def source(self) -> str:
        """Return the address that shows it: a `data:` URI."""
        return f"data:{self.media_type};base64,{self.data}"

    @property
    def label(self) -> str:
        """Return what it is in words."""
        return described(self.kind, self.media_type, self.size)


def described(kind: str, media_type: str, size: int) -> str:
    """Return such as `image/png image, 312 bytes`."""
    amount = f"{size:,} bytes" if size < 10_000 else f"{size / 1000:,.0f} kB"  # noqa: PLR2004
    return f"{media_type or 'untyped'} {kind}, {amount}"


def media_in(*values: JsonValue) -> list[Media]:
    """Return the pictures and sounds of an answer's values that can be shown, each once."""
    found: dict[str, Media] = {}
    room = MEDIA_BUDGET
    for value in values:
        for block in _blocks(value):
            item = _media(block)
            if item is None or item.data in found or len(item.data) > room:
                continue
            if len(found) == MOST_ITEMS:
                return list(found.values())
            found[item.data] = item
            room -= len(item.data)
    return list(found.values())


def media_blocks(*values: JsonValue) -> list[JsonObject]:
    """Return what `media_in` finds, as content blocks to keep."""
    return [
        {"type": item.kind, "mimeType": item.media_type, "data": item.data}
        for item in media_in(*values)
    ]


def without_media(value: JsonValue, depth: int = DEEPEST) -> JsonValue:
    """Return an answer with words in place of the data of its pictures, sounds and files."""
    if depth == 0:
        return value
    if isinstance(value, list):
        return [without_media(item, depth - 1) for item in value]
    if not isinstance(value, dict):
        return value
    worded = {name: without_media(item, depth - 1) for name, item in value.items()}
    if isinstance(value.get("content"), list):
        worded["content"] = [_in_words(block) for block in worded["content"]]
    return worded


def _blocks(value: JsonValue, depth: int = DEEPEST) -> Iterator[JsonObject]:
    if depth == 0 or not isinstance(value, dict | list):
        return
    content = value.get("content") if isinstance(value, dict) else None
    if isinstance(content, list):
        yield from (block for block in content if isinstance(block, dict))
    for item in value.values() if isinstance(value, dict) else value:
        yield from _blocks(item, depth - 1)


def _media(block: JsonObject) -> Media | None:
    kind, data, media_type = block.get("type"), block.get("data"), block.get("mimeType")
    if kind not in ("image", "audio") or not isinstance(data, str):
        return None
    if not isinstance(media_type, str) or media_type.lower() not in TYPES[kind]:
        return None
    if len(data) > MEDIA_BUDGET:
        return None
    try:
        size = len(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return None
    return Media(kind=kind, media_type=media_type.lower(), size=size, data=data)


def _in_words(block: JsonValue) -> JsonValue:
    if not isinstance(block, dict):
        return block
    kind, data = block.get("type"), block.get("data")
    if kind in ("image", "audio") and isinstance(data, str):
        return {**block, "data": _placeholder(kind, block.get("mimeType"), data)}
    resource = block.get("resource")
    if kind == "resource" and isinstance(resource, dict) and isinstance(resource.get("blob"), str):
        words = _placeholder("file", resource.get("mimeType"), resource["blob"])
        return {**block, "resource": {**resource, "blob": words}}
    return block


def _placeholder(kind: str, media_type: JsonValue, data: str) -> str:
    told = media_type if isinstance(media_type, str) else ""
    size = len(data) * 3 // 4 - data[-2:].count("=")
    return f"({described(kind, told, size)}: not shown as text)"
