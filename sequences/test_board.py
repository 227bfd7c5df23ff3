"""What the builder shows of the tests of a draft: each step, what it gave, and if that holds."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Max

from config.lib.types import JsonObject, JsonValue
from sequences.models import DraftOutput, Run, RunStep, SequenceDraft
from sequences.models.run_step import OPEN, StepStatus
from sequences.testing_plan import item_key, names_read, step_digests

MOST_ITEMS = 50
"""Items of a loop that are listed one by one."""

LONGEST_EDITED = 20_000
"""Characters of JSON that can be edited in the page; the page of the test has all of it."""

STATES = {
    "": "Not tested yet",
    "fresh": "Tested",
    "stale": "Changed since it was tested",
    "behind": "What it reads is newer",
    "edited": "Edited by hand",
    "failed": "Failed",
    "fell_back": "Failed; its fallback was used",
    "running": "Being tested",
}

BADGES = {
    "fresh": "is-ok",
    "stale": "is-warn",
    "behind": "is-warn",
    "edited": "is-info",
    "failed": "is-failed",
    "fell_back": "is-warn",
    "running": "is-running",
}


@dataclass(frozen=True, kw_only=True)
class TestedItem:
    """One item of a loop: what it was given and what it gave, when it was last tested."""

    index: int
    input: JsonValue
    output: JsonValue
    error: JsonObject | None
    known: bool

    @property
    def text(self) -> str:
        """Return what it gave as JSON, cut where it is very long."""
        return _pretty(self.output)[:LONGEST_EDITED]


@dataclass(frozen=True, kw_only=True)
class TestedStep:
    """One step; `state` is a key of `STATES`."""

    key: str
    number: int
    name: str
    state: str
    row: RunStep | None
    kept: DraftOutput | None
    items: tuple[TestedItem, ...]
    more_items: int
    has_loop: bool

    @property
    def words(self) -> str:
        """Return the state as people read it."""
        return STATES[self.state]

    @property
    def message(self) -> str:
        """Return what its test said of it, beyond what the state says already."""
        said = self.row.message if self.row else ""
        return "" if said == f"Step {self.number} succeeded." else said

    @property
    def badge(self) -> str:
        """Return the class that colours the state."""
        return BADGES.get(self.state, "")

    @property
    def text(self) -> str:
        """Return what the step gave as JSON, cut where it is too long to be edited."""
        return _pretty(self.kept.output if self.kept else None)[:LONGEST_EDITED]

    @property
    def is_cut(self) -> bool:
        """Tell whether `text` is not all of it."""
        return self.kept is not None and len(_pretty(self.kept.output)) > LONGEST_EDITED


def board_of(
    draft: SequenceDraft,
    definition: JsonObject,
    names: Mapping[str, str],
    test: Run | None,
) -> list[TestedStep]:
    """Return the steps of a draft with what is known of each.

    `definition` may be unfinished, `names` are the titles of its tools by id, and `test` is
    the newest test, by whose rows the steps are told that are being tested.
    """
    kept = {row.step_key: row for row in draft.outputs.all()}
    digests = step_digests(definition)
    rows: dict[str, RunStep] = {}
    items: dict[str, list[RunStep]] = {}
    if test is not None:
        for one in test.steps.order_by("number", "iteration"):
            if one.iteration is None:
                rows[one.key] = one
            else:
                items.setdefault(one.key, []).append(one)
    steps = []
    newest: dict[str, datetime] = {}  # by the name of an output: when it, or what it reads, changed
    for number, step in enumerate(definition["steps"], 1):
        key = str(step.get("key") or "")
        known, row = kept.get(key), rows.get(key)
        since = max((newest[name] for name in names_read([step]) if name in newest), default=None)
        behind = known is not None and since is not None and since > known.updated_at
        if known is not None and (stored := step.get("storeOutputAs")):
            newest[str(stored)] = max(known.updated_at, since or known.updated_at)
        looped = bool(step.get("forEach"))
        listed, more = _items(key, known, items.get(key, ()), kept) if looped else ((), 0)
        steps.append(
            TestedStep(
                key=key,
                number=number,
                name=_name(step, names),
                state=_state(known, digests.get(key, ""), row, behind=behind),
                row=row,
                kept=known,
                items=listed,
                more_items=more,
                has_loop=looped,
            )
        )
    return steps


def _name(step: JsonObject, names: Mapping[str, str]) -> str:
    if title := str(step.get("title") or ""):
        return title
    if approval := step.get("approval"):
        return str(approval.get("title") or "Ask a person")
    return names.get(str(step.get("toolToRunId") or ""), "No tool yet")


def outputs_mark(draft: SequenceDraft) -> str:
    """Return a text that changes whenever what is known of the steps' outputs does."""
    newest = draft.outputs.aggregate(newest=Max("updated_at"), count=Count("pk"))
    return f"{newest['count']}-{newest['newest'].isoformat() if newest['newest'] else ''}"


def _state(known: DraftOutput | None, digest: str, row: RunStep | None, *, behind: bool) -> str:
    if row is not None and row.status in OPEN:
        return "running"
    if known is None:
        return ""
    if known.is_edited:
        return "edited"
    if known.digest != digest:
        return "stale"
    if behind and not known.error:
        return "behind"
    if known.error:
        return "failed"
    fell = row is not None and row.run_id == known.run_id and row.status == StepStatus.FELL_BACK
    return "fell_back" if fell else "fresh"


def _items(
    key: str, known: DraftOutput | None, rows: Sequence[RunStep], kept: Mapping[str, DraftOutput]
) -> tuple[tuple[TestedItem, ...], int]:
    """Return the items of a loop, by the newest test of the whole step or of the one item."""
    by_index: dict[int, Any] = {row.iteration: row for row in rows if row.iteration is not None}
    whole = known.output if known and isinstance(known.output, list) else []
    alone = [index for index in range(MOST_ITEMS) if item_key(key, index) in kept]
    count = max([len(whole), *(index + 1 for index in [*by_index, *alone])], default=0)
    count = max(count, 1)
    listed = []
    for index in range(min(count + 1 if alone else count, MOST_ITEMS)):
        row = by_index.get(index)
        single = kept.get(item_key(key, index))
        if single is not None and (known is None or single.updated_at > known.updated_at):
            outputs = single.output if isinstance(single.output, list) else [None]
            listed.append(_item(index, single.input, outputs[0] if outputs else None, single.error))
        elif row is not None:
            listed.append(_item(index, row.input, row.output, row.error))
        elif index < len(whole):
            listed.append(_item(index, None, whole[index], None))
        else:
            nothing = TestedItem(index=index, input=None, output=None, error=None, known=False)
            listed.append(nothing)
    return tuple(listed), max(count - MOST_ITEMS, 0)


def _item(index: int, given: JsonValue, output: JsonValue, error: JsonObject | None) -> TestedItem:
    return TestedItem(index=index, input=given, output=output, error=error, known=True)


def _pretty(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
