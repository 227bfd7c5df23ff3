"""Lay differences out for a page: what is breaking first, texts with their words marked."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from config.lib.types import JsonObject, JsonValue
from registry.differences.found import LONGEST_SAID, Difference, Effect, Kind
from registry.differences.summary import Summary, summary_of
from registry.differences.words import Run, word_runs

LONGEST_INLINE = LONGEST_SAID - 2  # it is said in quotation marks
SHORT_LIST = 120
"""Characters of a list whose change a sentence has told."""

MOST_LINES = 4_000
"""Lines of JSON that are compared one by one."""


@dataclass(frozen=True, kw_only=True)
class ShownDifference:
    """One difference with what a page says beside its sentence."""

    difference: Difference
    label: str
    before: str
    after: str
    runs: list[Run]

    @property
    def has_values(self) -> bool:
        """Say whether the sentence leaves out what the values show."""
        return bool(self.before or self.after)


@dataclass(frozen=True, kw_only=True)
class DifferenceGroup:
    """Differences that do the same to callers; `badge` is the state of the badge of each."""

    title: str
    effect: str
    badge: str
    items: list[ShownDifference]


@dataclass(frozen=True, kw_only=True)
class DifferencesDisplay:
    """All differences of two versions, grouped by what they do to callers."""

    summary: Summary
    groups: list[DifferenceGroup]


@dataclass(frozen=True, kw_only=True)
class Sides:
    """A value then and now as JSON, each in pieces that stayed, went or came."""

    title: str
    before: list[Run]
    after: list[Run]

    @cached_property
    def differs(self) -> bool:
        """Say whether the two are not the same."""
        return any(run.kind != "same" for run in (*self.before, *self.after))


_GROUPS = (
    (Effect.BREAKING, "Breaking: callers may fail", "failed"),
    (Effect.COMPATIBLE, "Compatible: callers need not change", "running"),
    (Effect.TEXT, "Words: what people and models read", ""),
)
_LABELS = {Kind.ADDED: "Added", Kind.REMOVED: "Removed", Kind.CHANGED: "Changed"}


def display_of(differences: Sequence[Difference]) -> DifferencesDisplay:
    """Return the differences as a page shows them."""
    groups = [
        DifferenceGroup(
            title=title,
            effect=effect.value,
            badge=badge,
            items=[_shown(item) for item in differences if item.effect == effect],
        )
        for effect, title, badge in _GROUPS
    ]
    return DifferencesDisplay(
        summary=summary_of(differences), groups=[group for group in groups if group.items]
    )


def sides_of(title: str, before: JsonValue, after: JsonValue) -> Sides:
    """Return two values beside each other as indented JSON, line by line."""
    old, new = (_pretty(value).splitlines(keepends=True) for value in (before, after))
    if max(len(old), len(new)) > MOST_LINES:
        whole = [Run("deleted", "".join(old))], [Run("inserted", "".join(new))]
        return Sides(title=title, before=whole[0], after=whole[1])
    left, right = [], []
    for operation, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        same = operation == "equal"
        left.append(Run("same" if same else "deleted", "".join(old[a:b])))
        right.append(Run("same" if same else "inserted", "".join(new[c:d])))
    return Sides(
        title=title,
        before=[run for run in left if run.text],
        after=[run for run in right if run.text],
    )


def sides_of_snapshots(before: JsonObject | None, after: JsonObject) -> list[Sides]:
    """Return the parts of two snapshots that have a shape, where there are any."""
    then = before or {}
    titles = {
        "input_schema": "Input schema",
        "output_schema": "Output schema",
        "definition": "Definition",
    }
    return [
        sides_of(title, then.get(name), after.get(name))
        for name, title in titles.items()
        if then.get(name) or after.get(name)
    ]


def _shown(difference: Difference) -> ShownDifference:
    before, after = difference.before, difference.after
    is_text = isinstance(before, str) and isinstance(after, str)
    marked = is_text and difference.effect == Effect.TEXT
    runs = word_runs(before, after) if marked else []
    told = runs or (_is_short(before) and _is_short(after))
    return ShownDifference(
        difference=difference,
        label=_LABELS[difference.kind],
        before="" if told else _as_text(before),
        after="" if told else _as_text(after),
        runs=runs,
    )


def _is_short(value: JsonValue) -> bool:
    """Say whether a sentence has room for the value."""
    match value:
        case dict():
            return len(value) <= 1 and all(_is_short(item) for item in value.values())
        case list():
            return all(_is_scalar(item) for item in value) and len(_pretty(value)) <= SHORT_LIST
        case str():
            return len(value) <= LONGEST_INLINE
        case _:
            return True


def _is_scalar(value: JsonValue) -> bool:
    return not isinstance(value, dict | list)


def _as_text(value: JsonValue) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else _pretty(value)


def _pretty(value: JsonValue) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False, indent=2)
