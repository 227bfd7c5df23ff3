"""What differs between two states of a draft, in words, each with its place."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import zip_longest

from config.lib.types import JsonObject
from sequences.forms.drafts import APPROVAL, Draft, Row, StepDraft, draft_to_json

MOST_TOLD = 12
LONGEST_VALUE = 60

DRAFT_WORDS = {
    "name": "the name",
    "description": "the description",
    "visibility": "who may use it",
    "team": "the team",
    "scopes": "the scopes",
    "schema": "the inputs",
    "max_runs": "how many run at a time",
    "reason": "the version note",
}
STEP_WORDS = {
    "kind": "what it is",
    "tool": "the tool",
    "version": "the version",
    "title": "the title",
    "when": "the condition",
    "each": "what it repeats for",
    "parallel": "how many at a time",
    "max_items": "the most items",
    "beside": "its branch",
    "success": "the message on success",
    "failure": "the message on failure",
    "continue_on_failure": "whether to go on when it fails",
    "fallback": "the value if it fails",
    "store_as": "the name of its output",
    "timeout": "the time limit",
    "attempts": "the attempts",
    "backoff": "the pause before a new attempt",
    "factor": "the growth of the pause",
    "repeatable": "whether it may be called twice",
    "disabled": "whether it is off",
    "ask_title": "the question",
    "ask_message": "the message",
    "ask_schema": "the form",
    "ask_rejected": "what a refusal does",
    "ask_expires": "when it lapses",
}
UNSEEN = ("group", "branch", "collapsed", "key", "rows")
"""Parts of a step that say nothing of their own, or are told in another way."""


@dataclass(frozen=True)
class Change:
    """One thing that differs; `before` and `after` are short, empty where it is not one text."""

    words: str
    before: str = ""
    after: str = ""
    typed: bool = False
    """Whether it is a text that people type, letter by letter."""


def changes_between(before: Draft, after: Draft) -> list[Change]:
    """Return what differs, in the order of the page; empty where nothing does that counts."""
    return [*_own_changes(before, after), *_step_changes(before, after), *_final(before, after)]


def same_but_for_view(one: Draft, other: Draft) -> bool:
    """Tell whether two drafts say the same; what is folded up does not count."""
    return _said(one) == _said(other)


def change_words(changes: list[Change]) -> str:
    """Return the changes as one short line, which is what undo says it takes back."""
    if not changes:
        return "Changed the order of values"
    words = changes[0].words
    return words if len(changes) == 1 else f"{words} and {len(changes) - 1} more"


def _said(draft: Draft) -> JsonObject:
    said = draft_to_json(draft)
    for step in said["steps"]:
        del step["collapsed"]
    return said


def _own_changes(before: Draft, after: Draft) -> Iterator[Change]:
    for part, words in DRAFT_WORDS.items():
        old, new = getattr(before, part), getattr(after, part)
        if old != new:
            long = part == "schema"
            yield _change(f"Changed {words}", *(("", "") if long else (old, new)), typed=True)


def _step_changes(before: Draft, after: Draft) -> Iterator[Change]:
    old = {step.key: (number, step) for number, step in enumerate(before.steps, 1)}
    new = {step.key: (number, step) for number, step in enumerate(after.steps, 1)}
    for key, (number, step) in old.items():
        if key not in new:
            yield Change(f"Removed step {number}{_called(step)}")
    for key, (number, step) in new.items():
        if key not in old:
            yield Change(f"Added step {number}{_called(step)}")
        else:
            yield from _within(number, old[key][1], step)
    kept = [key for key in old if key in new]
    if kept != [key for key in new if key in old]:
        yield _moved(kept, new)


def _moved(kept: list[str], new: dict[str, tuple[int, StepDraft]]) -> Change:
    """Name the one step whose place explains the new order, if it is one."""
    order = [key for key in new if key in kept]
    for key in order:
        rest = [other for other in order if other != key]
        if rest == [other for other in kept if other != key]:
            number, step = new[key]
            return Change(f"Moved a step to place {number}{_called(step)}")
    return Change("Changed the order of the steps")


def _within(number: int, before: StepDraft, after: StepDraft) -> Iterator[Change]:
    for part in fields(StepDraft):
        old, new = getattr(before, part.name), getattr(after, part.name)
        if old == new or part.name in UNSEEN:
            continue
        words = f"Changed {STEP_WORDS[part.name]} of step {number}"
        if isinstance(old, str):
            yield _change(words, old, new, typed=True)
        else:
            yield Change(words, typed=isinstance(old, Row) and old.source == new.source)
    yield from _row_changes(f"of step {number}", before.rows, after.rows)


def _final(before: Draft, after: Draft) -> Iterator[Change]:
    yield from _row_changes("of the output", before.final, after.final)


def _row_changes(place: str, before: list[Row], after: list[Row]) -> Iterator[Change]:
    """Tell what rows say; a row that leaves its input out says as much as none."""
    old, new = _telling(before), _telling(after)
    for one, other in zip_longest(old, new):
        if one == other:
            continue
        if one is None or other is None or one.name != other.name:
            names = sorted({row.name for row in (one, other) if row and row.name})
            yield Change(f"Changed {_quoted(names) or 'the values'} {place}")
        else:
            typed = one.source == other.source
            yield _change(
                f"Changed {_quoted([one.name]) or 'a value'} {place}",
                _value(one),
                _value(other),
                typed=typed,
            )


def _telling(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row.source or row.value.strip()]


def _value(row: Row) -> str:
    return " ".join(part for part in (row.value, row.path) if part)


def _quoted(names: list[str]) -> str:
    return ", ".join(f"“{name}”" for name in names)


def _called(step: StepDraft) -> str:
    what = step.title or ("Ask a person" if step.kind == APPROVAL else step.tool)
    return f" ({what})" if what else ""


def _change(words: str, before: str, after: str, *, typed: bool) -> Change:
    return Change(words, _short(before), _short(after), typed=typed)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_VALUE else f"{line[:LONGEST_VALUE]}…"


def size_of_draft(draft: Draft) -> int:
    """Return the characters of the draft as JSON."""
    return len(json.dumps(draft_to_json(draft), ensure_ascii=False))
