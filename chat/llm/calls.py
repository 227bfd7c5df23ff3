"""Put tool calls together from the pieces in which providers send them."""

import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from chat.llm.events import ToolCallDraft, ToolCallReady
from config.lib.jsontext import clean_text

LONGEST_CALL_ID = 100
"""Characters of `Message.tool_call_id`."""

LONGEST_NAME = 64
"""Characters of a tool's name that providers take back."""

NAMELESS = "unnamed_tool"
"""Stands where a model named no tool: providers refuse an empty name in a history."""

DRAFT_SECONDS = 0.25
"""How often it is told how far a call has been written."""

_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")


def call_id() -> str:
    """Return an id for a call that came without one."""
    return f"call_{uuid4().hex}"


def call_name(name: str) -> str:
    """Return the name as a history may tell it to any provider."""
    return _NOT_IN_NAMES.sub("_", name.strip())[:LONGEST_NAME] or NAMELESS


@dataclass
class _Part:
    """A call as far as it has come."""

    id: str
    given_id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    size: int = 0
    told_at: float = field(default_factory=time.monotonic)

    def add(self, piece: Any) -> int:
        """Take a piece; return the characters of it."""
        if piece.id and not self.given_id:
            self.given_id = piece.id
            self.id = clean_text(piece.id)[:LONGEST_CALL_ID]
        name = (piece.function and piece.function.name) or ""
        # some providers repeat the name with every piece
        if name != self.name:
            self.name += name
        if text := (piece.function and piece.function.arguments) or "":
            self.arguments.append(text)
            self.size += len(text)
        return len(name) + len(text)

    def is_whole(self) -> bool:
        """Tell whether its arguments are a JSON object already."""
        try:
            return isinstance(json.loads("".join(self.arguments)), dict)
        except (ValueError, RecursionError):
            return False


@dataclass
class Calls:
    """The calls of one message; `size` counts the characters of what has come of them."""

    size: int = 0
    _parts: list[_Part] = field(default_factory=list)
    _by_index: dict[int, _Part] = field(default_factory=dict)

    def add(self, pieces: Sequence[Any]) -> Iterator[ToolCallDraft]:
        """Take pieces; yield how far a call is that has been on its way for a while."""
        for piece in pieces:
            part = self._part(piece)
            self.size += 1 + part.add(piece)
            now = time.monotonic()
            if now - part.told_at >= DRAFT_SECONDS:
                part.told_at = now
                yield ToolCallDraft(part.id, call_name(clean_text(part.name)), part.size)

    def ready(self) -> list[ToolCallReady]:
        """Return the calls, whole."""
        return [
            ToolCallReady(
                id=part.id,
                name=call_name(clean_text(part.name)),
                arguments=clean_text("".join(part.arguments)),
            )
            for part in self._parts
        ]

    def _part(self, piece: Any) -> _Part:
        index = piece.index or 0
        part = self._by_index.get(index)
        if part is None or _begins_another(part, piece):
            part = self._by_index[index] = _Part(call_id())
            self._parts.append(part)
        return part


def _begins_another(part: _Part, piece: Any) -> bool:
    """Tell whether a piece with the number of a call belongs to the next one.

    Some providers number every call 0; they tell them apart by id, or not at all but by sending
    each call whole.
    """
    if piece.id and part.given_id:
        return bool(piece.id != part.given_id)
    return bool(piece.function and piece.function.name and part.name and part.is_whole())
