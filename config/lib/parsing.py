"""Read what clients send: numbers in addresses, JSON in bodies."""

from __future__ import annotations

import math
from collections.abc import Mapping
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any

from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from config.lib.errors import BodyTooLarge

if TYPE_CHECKING:
    from config.lib.types import JsonValue

DEEPEST_JSON = 100
"""Levels of nesting that a body may have; more would exhaust the stack of whoever walks it."""


class BoundedJSONParser(JSONParser):
    """Read a JSON body; refuse what is nested too deeply, and numbers that JSON cannot hold."""

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> JsonValue:
        """Return the body's value, or raise ParseError, or BodyTooLarge."""
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = stream.read(most + 1)
        if len(body) > most:
            raise BodyTooLarge(f"The body has more than {most:,} bytes.")
        try:
            value = super().parse(BytesIO(body), media_type, parser_context)
        except RecursionError:
            raise _too_deep() from None
        _require_bounded(value)
        return value


def _require_bounded(value: JsonValue) -> None:
    level = [value]
    for _ in range(DEEPEST_JSON + 1):
        if not level:
            return
        if any(isinstance(item, float) and not math.isfinite(item) for item in level):
            raise ParseError("The body holds a number that is too large.")
        level = [inner for item in level for inner in _inside(item)]
    raise _too_deep()


def _inside(value: JsonValue) -> list[JsonValue]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _too_deep() -> ParseError:
    return ParseError(f"The body is nested too deeply; at most {DEEPEST_JSON} levels are taken.")
