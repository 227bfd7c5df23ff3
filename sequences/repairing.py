"""Say in the builder and in lists that tools of a sequence have changed, and mend its draft."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Q

from config.lib.ids import uuid_in
from config.lib.numbers import whole_number
from config.lib.types import JsonObject
from registry.deprecated import deprecation_notice
from registry.loading import load_spec
from registry.models import Tool, ToolVersion
from registry.models.tool import ToolKind
from registry.pins import numbers_to_pin
from registry.schema_forms import form_fields
from registry.selectors import tools_usable_by
from registry.step_troubles import step_troubles
from sequences.forms.actions import Acted
from sequences.forms.drafts import APPROVAL, Draft, StepDraft
from sequences.forms.mending import mend
from sequences.forms.saved import default_key
from sequences.forms.static_values import static_from_text
from sequences.forms.step_tools import tools_once_seen
from sequences.repairs import Called, Given, Repair, Repairs, Version, misfits, repairs_of

MOST_VERSIONS = 10
"""Earlier versions of a tool that are looked at, the newest ones."""


@dataclass(frozen=True, kw_only=True)
class StepRepairs:
    """What happened to the tool of one step of a draft; `index` counts from 0, `key` is its id."""

    index: int
    key: str
    found: Repairs

    @property
    def number(self) -> int:
        """Return the number of the step as people count."""
        return self.index + 1

    @property
    def anchor(self) -> str:
        """Return the id of the step's card, as the builder has it."""
        return f"step-{self.number if self.key == default_key(self.number) else self.key}"

    def action(self, repair: Repair) -> str:
        """Return what the button of a repair sends."""
        return f"repair-{self.index}-{repair.id}"

    @property
    def buttons(self) -> list[tuple[str, str]]:
        """Return `(action, label)` of each repair."""
        return [(self.action(repair), repair.label) for repair in self.found.repairs]


def draft_repairs(user: User, draft: Draft) -> list[StepRepairs]:
    """Return the steps of a draft whose tools have changed, each with what mends it."""
    tools = _Tools(user, filter(None, map(_tool_name, draft.steps)))
    found: list[StepRepairs] = []
    for index, step in enumerate(draft.steps):
        if not (name := _tool_name(step)):
            continue
        repairs = tools.repairs(name, _given(step, tools.live(name)), whole_number(step.version))
        if repairs is not None:
            found.append(StepRepairs(index=index, key=step.key, found=repairs))
    return found


def repaired(user: User, draft: Draft, action: str) -> Acted | None:
    """Mend a draft by one of `draft_repairs`; None where the action is no repair.

    One that is offered no more changes nothing and says so.
    """
    name, _, rest = action.partition("-")
    if name != "repair":
        return None
    for step in draft_repairs(user, draft):
        for repair in step.found.repairs:
            if f"{step.index}-{repair.id}" == rest:
                mended = draft.steps[step.index]
                name = _tool_name(mended)
                mend(draft, mended, repair, _Tools(user, [name]).live(name))
                return Acted(label=f"Step {step.number}: {repair.label}"[:120])
    return Acted(told="This is not offered any more: the step or its tool has changed since.")


def sequences_troubled(user: User, tools: Iterable[Tool]) -> dict[UUID, str]:
    """Return, of those sequences among `tools` with a step to mend, what is the matter.

    A step that cannot run at all comes first; then one whose tool takes other inputs by now.
    """
    sequences = [tool for tool in tools if tool.kind == ToolKind.SEQUENCE]
    told = step_troubles(sequences)
    steps = {tool.pk: (tool.definition or {}).get("steps") or [] for tool in sequences}
    names = {
        str(step["toolToRunId"])
        for each in steps.values()
        for step in each
        if step.get("toolToRunId")
    }
    called = _Tools(user, names)
    for pk, each in steps.items():
        for number, step in enumerate(each, 1):
            if pk in told or not step.get("toolToRunId"):
                continue
            name = str(step["toolToRunId"])
            found = called.repairs(name, _given_in(step), step.get("toolVersion"))
            if found is not None and found.breaks:
                told[pk] = f"Step {number}: {found.told[0]}"
    return told


class _Tools:
    """The tools that steps call, by wire name and by id; two queries, and one for each tool whose
    earlier versions are to be looked at."""

    def __init__(self, user: User, names: Iterable[str]) -> None:
        self._user = user
        wanted = set(names)
        named = Q(wire_name__in=wanted) | Q(pk__in=[name for name in wanted if uuid_in(name)])
        usable = list(tools_usable_by(user).filter(named)) if wanted else []
        self._usable = {key: tool for tool in usable for key in (tool.wire_name, str(tool.pk))}
        lost = wanted - self._usable.keys()
        gone = tools_once_seen(user).filter(named).order_by("deleted_at") if lost else ()
        self._gone = {key: tool for tool in gone for key in (tool.wire_name, str(tool.pk))}
        self._earlier: dict[UUID, tuple[Version, ...]] = {}

    def live(self, name: str) -> JsonObject:
        """Return the input schema of a tool as it is now; empty where it is gone."""
        tool = self._usable.get(name)
        return dict(load_spec(tool).input_schema) if tool else {}

    def repairs(self, name: str, given: Mapping[str, Given], pinned: int | None) -> Repairs | None:
        """Return what mends a step; None where nothing happened to its tool, or it never was."""
        tool = self._usable.get(name)
        if tool is None:
            lost = self._gone.get(name)
            return repairs_of(given, _called(lost, None), pinned=pinned) if lost else None
        live = Version(tool.version, self.live(name))
        changed = pinned is None and misfits(given, live.schema)
        earlier = self._earlier_of(tool) if changed else ()
        is_barred = pinned is not None and pinned not in numbers_to_pin(tool, self._user)
        barred = frozenset({pinned} if is_barred and pinned else ())
        called = _called(tool, live, earlier=earlier, barred=barred)
        return repairs_of(given, called, pinned=pinned)

    def _earlier_of(self, tool: Tool) -> tuple[Version, ...]:
        if tool.pk not in self._earlier:
            before = [n for n in numbers_to_pin(tool, self._user) if n < tool.version]
            rows = ToolVersion.objects.filter(tool=tool, number__in=before[:MOST_VERSIONS])
            self._earlier[tool.pk] = tuple(
                Version(row.number, row.snapshot["input_schema"])
                for row in rows.order_by("-number")
            )
        return self._earlier[tool.pk]


def _called(
    tool: Tool,
    live: Version | None,
    *,
    earlier: tuple[Version, ...] = (),
    barred: frozenset[int] = frozenset(),
) -> Called:
    successor = tool.successor
    lives = successor is not None and successor.deleted_at is None
    return Called(
        name=tool.wire_name,
        live=live,
        earlier=earlier,
        barred=barred,
        successor=successor.wire_name if successor and lives else "",
        successor_schema=successor.input_schema if successor and lives else None,
        notice=deprecation_notice(tool) if live else "",
    )


def _tool_name(step: StepDraft) -> str:
    return "" if step.kind == APPROVAL else step.tool.strip()


def _given(step: StepDraft, schema: JsonObject) -> dict[str, Given]:
    """Return what a step of a draft gives; what was never filled in is not given."""
    fields = {field.name: field for field in form_fields(schema)}
    given: dict[str, Given] = {}
    for row in step.rows:
        name = row.name.strip()
        if not row.source or not name or (row.is_untouched and row.source == "static"):
            continue
        is_fixed = row.source == "static"
        value = static_from_text(row.value, fields.get(name)) if is_fixed else None
        given[name] = Given(is_fixed, value)
    return given


def _given_in(step: Mapping[str, Any]) -> dict[str, Given]:
    mapping: Mapping[str, Any] = step.get("inputMapping") or {}
    return {
        name: Given(source.get("source") == "static", source.get("value"))
        for name, source in mapping.items()
    }
