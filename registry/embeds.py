"""Work out what stands between « and » in the text arguments of a call.

`«math:2*3»`, `«uuid:»`, `«datetime:%Y-%m-%d»` (a time zone or city may follow, as in
`«datetime:%H:%M|Asia/Tokyo»`) and `«artifact_content:report.json»` (or `report.json:2` for its
second version). What is put in is not looked through again, and a kind that is not known stays as
it is: «…» are quotation marks, too.
"""

import re
import uuid
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from typing import Any

from config.lib.numbers import whole_number
from config.lib.types import JsonObject, JsonValue
from registry.builtins import arithmetic, expression
from registry.builtins.calculator import EXPRESSION_LIMIT
from registry.builtins.clock import resolve_zone
from registry.errors import InvalidEmbed, ToolError, ToolInputRejected

EMBED = re.compile(r"«(math|uuid|datetime|artifact_content):([^«»]*)»")
DIRECTIVES = re.compile(r"(?:[^%]|%[-_0^#]?[A-Za-z%])*")
"""A form of strftime, without the widths that could make it endless."""

LONGEST_FORM = 200
SHOWN = 80
"""Characters of an embed that an error repeats."""

LARGEST = 4_000_000
"""Characters that all embeds of one call may put in."""

ReadArtifact = Callable[[str, int | None], str]
"""Name and version, or None for the latest → the artifact's text; raises ToolError."""


def resolve_embeds(
    arguments: JsonObject, *, raw: Collection[str] = (), read: ReadArtifact
) -> JsonObject:
    """Return the arguments with the embeds in their texts worked out.

    Arguments named in `raw` are left alone. Raises InvalidEmbed, which names the embed.
    """
    resolver = _Resolver(read)
    return {
        name: value if name in raw else resolver.value(value) for name, value in arguments.items()
    }


class _Resolver:
    """Resolves the embeds of one call; all its dates are of one moment."""

    def __init__(self, read: ReadArtifact) -> None:
        self._read = read
        self._now = datetime.now(UTC)
        self._left = LARGEST

    def value(self, value: JsonValue) -> Any:
        match value:
            case str():
                return EMBED.sub(self._resolved, value) if "«" in value else value
            case dict():
                return {key: self.value(item) for key, item in value.items()}
            case list():
                return [self.value(item) for item in value]
            case _:
                return value

    def _resolved(self, match: re.Match[str]) -> str:
        kinds = {
            "math": _calculated,
            "uuid": _new_uuid,
            "datetime": self._moment,
            "artifact_content": self._content,
        }
        try:
            text = kinds[match[1]](match[2].strip())
        except ToolError as problem:
            raise _invalid(match[0], problem.message, problem.hint) from None
        self._left -= len(text)
        if self._left < 0:
            raise _invalid(
                match[0],
                f"The embeds of one call may put in at most {LARGEST:,} characters.",
                "Hand the tool less at a time.",
            )
        return text

    def _moment(self, wanted: str) -> str:
        form, _, zone = wanted.partition("|")
        now = self._now.astimezone(resolve_zone(zone.strip())[1]) if zone.strip() else self._now
        form = form.strip()
        if not form:
            return now.isoformat(timespec="seconds")
        if len(form) > LONGEST_FORM or not DIRECTIVES.fullmatch(form):
            raise ToolInputRejected(
                "The form of the date cannot be read.", "Write it as in «datetime:%Y-%m-%d»."
            )
        return now.strftime(form)

    def _content(self, wanted: str) -> str:
        name, _, version = wanted.partition(":")
        number = whole_number(version)
        if version and number is None:
            raise ToolInputRejected(
                f"“{version[:20]}” is not the number of a version.",
                "Write «artifact_content:name» or «artifact_content:name:2».",
            )
        return self._read(name, number)


def _calculated(text: str) -> str:
    if len(text) > EXPRESSION_LIMIT:
        raise ToolInputRejected(
            f"The expression is longer than {EXPRESSION_LIMIT:,} characters.", "Shorten it."
        )
    try:
        return str(arithmetic.tidy(expression.evaluate(expression.normalise(text))))
    except OverflowError:
        raise arithmetic.too_large() from None


def _new_uuid(_: str) -> str:
    return str(uuid.uuid4())


def _invalid(embed: str, message: str, hint: str) -> InvalidEmbed:
    shown = embed if len(embed) <= SHOWN else f"{embed[: SHOWN - 2]}…»"
    return InvalidEmbed(f"{shown} cannot be worked out: {message}", hint, embed=shown)
