"""One difference, and the words that all of them share."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from config.lib.jsontext import shortened
from config.lib.types import JsonValue

LONGEST_VALUE = 2_000
"""Bytes of JSON that a value before or after may have; longer ones are told in short."""

LONGEST_TEXT = 20_000
"""Characters that are kept of a description, whose words are compared."""

LONGEST_SAID = 80


class Kind(StrEnum):
    """Whether something came, went or is another."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


class Effect(StrEnum):
    """What a difference does to those who use the tool as it was."""

    BREAKING = "breaking"
    COMPATIBLE = "compatible"
    TEXT = "text"


class Part(StrEnum):
    """The part of a tool that a path leads into."""

    TOOL = "tool"
    INPUT = "input"
    OUTPUT = "output"
    DEFINITION = "definition"
    PACKAGE = "package"


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One thing that is not as it was.

    `path` is a JSON path inside `part`: `$.options.mode` of the input, `$.steps[1].retry` of the
    definition. `sentence` says it in plain words.
    """

    part: Part
    path: str
    kind: Kind
    effect: Effect
    before: JsonValue
    after: JsonValue
    sentence: str

    @property
    def is_breaking(self) -> bool:
        """Say whether those who use the tool as it was may fail now."""
        return self.effect == Effect.BREAKING


def found(
    path: str,
    sentence: str,
    *,
    breaking: bool = False,
    text: bool = False,
    before: JsonValue = None,
    after: JsonValue = None,
    kind: Kind = Kind.CHANGED,
    part: Part = Part.TOOL,
) -> Difference:
    """Return a difference whose values are short enough to be shown."""
    effect = Effect.BREAKING if breaking else Effect.TEXT if text else Effect.COMPATIBLE
    return Difference(
        part=part,
        path=path,
        kind=kind,
        effect=effect,
        before=_kept(before),
        after=_kept(after),
        sentence=sentence,
    )


def within(part: Part, differences: Iterator[Difference]) -> Iterator[Difference]:
    """Yield the differences as those of a part."""
    for difference in differences:
        yield replace(difference, part=part)


def kind_of(before: object, after: object) -> Kind:
    """Return what happened to a value, where None is none."""
    if before is None:
        return Kind.ADDED
    return Kind.REMOVED if after is None else Kind.CHANGED


def said(value: JsonValue) -> str:
    """Return a value as it is written in a sentence."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case str():
            return f"“{_cut(value)}”"
        case int() | float():
            return f"{value}"
        case list() if not value:
            return "an empty list"
        case list() if all(isinstance(item, str | int | float) for item in value):
            return _cut(", ".join(said(item) for item in value))
        case list():
            return f"a list of {len(value)}"
        case _:
            return "an object"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_SAID else text[: LONGEST_SAID - 1] + "…"


def _kept(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return value if len(value) <= LONGEST_TEXT else value[:LONGEST_TEXT] + "…"
    return shortened(value, LONGEST_VALUE)
