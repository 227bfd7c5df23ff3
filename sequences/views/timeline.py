"""Prepare the timeline of a run: its steps as bars on one axis, grouped as they were run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from uuid import UUID

from django.db.models import Count, QuerySet
from django.utils import timezone

from config.lib.ids import uuids_in
from config.lib.types import JsonObject
from registry.models import Tool
from sequences.models import Run, RunStep
from sequences.models.run_step import OPEN, StepStatus
from sequences.picture import flow_picture
from sequences.picture_parts import Picture
from sequences.views.values import Shown, input_of, output_of, with_values

WIDTH = 1_000
"""Units of the time axis."""

NARROWEST = 4
MOST_MARKS = 200
"""Iterations that have a bar of their own."""

MOST_ITERATIONS = 50
"""Iterations on one page."""

MOST_INNER = 100
"""Runs of inner sequences that are shown inside a run."""

MARKS = {
    StepStatus.REUSED: "copy",
    StepStatus.FAILED: "x",
    StepStatus.SKIPPED: "chevron",
    StepStatus.FELL_BACK: "alert",
    StepStatus.WAITING: "user",
    StepStatus.IN_DOUBT: "alert",
}
"""Icons of the statuses; every other is done."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """When something was under way, in units of the axis."""

    x: int
    width: int
    status: str


@dataclass(frozen=True, kw_only=True)
class Axis:
    """The time that a run has taken so far."""

    start: datetime
    end: datetime

    @property
    def milliseconds(self) -> int:
        """Return how long it is."""
        return max(1, round((self.end - self.start) / timedelta(milliseconds=1)))

    @property
    def half(self) -> int:
        """Return half of it, for the mark in the middle."""
        return self.milliseconds // 2

    def bar(self, step: RunStep) -> Bar | None:
        """Return the bar of a step; None where it did nothing in this run."""
        if step.status in (StepStatus.REUSED, StepStatus.SKIPPED):
            return None
        began = (step.started_at - self.start) / timedelta(milliseconds=1)
        if step.status in OPEN:
            lasted = (self.end - step.started_at) / timedelta(milliseconds=1)
        else:
            lasted = step.duration_ms or 0
        left = min(WIDTH - NARROWEST, max(0, round(began / self.milliseconds * WIDTH)))
        width = max(NARROWEST, round(lasted / self.milliseconds * WIDTH))
        return Bar(x=left, width=min(width, WIDTH - left), status=step.status)


@dataclass(frozen=True, kw_only=True)
class Iterations:
    """How a loop goes: the first iterations, and how many there are of each status."""

    shown: list[RunStep]
    count: int
    counts: list[tuple[str, str, int]]
    bars: list[Bar]

    @property
    def more(self) -> int:
        """Return how many are not shown."""
        return self.count - len(self.shown)


@dataclass(frozen=True, kw_only=True)
class Inner:
    """The run of a sequence that a step called, with its steps, iterations left out."""

    run: Run
    steps: list[RunStep]


@dataclass(frozen=True, kw_only=True)
class Line:
    """One step of a run, or (`step` is None) one that has not begun."""

    number: int
    anchor: str
    title: str
    tool_name: str
    branch: str
    step: RunStep | None = None
    input: Shown | None = None
    output: Shown | None = None
    bar: Bar | None = None
    iterations: Iterations | None = None
    children: tuple[Inner, ...] = ()
    is_approval: bool = False

    @property
    def icon(self) -> str:
        """Return the icon that marks the status; empty for one that has not begun."""
        return MARKS.get(StepStatus(self.step.status), "check") if self.step else ""

    @property
    def name(self) -> str:
        """Return what the step is called."""
        return self.title or self.tool_name or f"Step {self.number}"


@dataclass(frozen=True, kw_only=True)
class Block:
    """Neighbouring lines: one by itself, or the branches of one group, which ran side by side."""

    group: str
    branches: list[tuple[str, list[Line]]]


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """The steps of a run on their axis."""

    axis: Axis
    blocks: list[Block]
    picture: Picture

    @property
    def lines(self) -> list[Line]:
        """Return every line in the order of the steps."""
        lines = [line for block in self.blocks for _, within in block.branches for line in within]
        return sorted(lines, key=lambda line: line.number)


def timeline_of(run: Run) -> Timeline:
    """Return the timeline of a run: what its steps did, and those that have not begun."""
    rows = with_values(run.steps.select_related("tool"))
    steps = {row.number: row for row in rows.filter(iteration=None).order_by("number", "pk")}
    axis = _axis(run, steps.values())
    planned: dict[int, JsonObject] = {
        item.get("stepNumber", place): item for place, item in enumerate(run.plan["steps"], 1)
    }
    names = {str(row.tool_id): row.tool_name for row in steps.values() if row.tool_id}
    names |= _names([item for number, item in planned.items() if number not in steps])
    numbers = sorted({*planned, *steps})
    if run.is_finished:  # what was never reached is not told
        numbers = [number for number in numbers if number in steps]
    # those whose row was not there yet are not begun, whatever is written meanwhile
    repeated = [number for number in steps if "forEach" in planned.get(number, {})]
    loops = _loops(run, axis, repeated)
    inner = _inner(run)
    lines = []
    for number in numbers:
        plan = planned.get(number, {})
        lines.append((plan, _line(number, plan, steps, loops, axis, names, inner)))
    marks = {number: row.status for number, row in steps.items()}
    picture = flow_picture(run.plan, names, marks)
    return Timeline(axis=axis, blocks=_blocks(lines), picture=picture)


def _axis(run: Run, steps: Iterable[RunStep]) -> Axis:
    own = [s.started_at for s in steps if s.started_at >= run.created_at]
    start = min([run.started_at or run.created_at, *own])
    return Axis(start=start, end=max(run.finished_at or timezone.now(), start))


def _line(
    number: int,
    plan: JsonObject,
    steps: Mapping[int, RunStep],
    loops: Mapping[int, Iterations],
    axis: Axis,
    names: Mapping[str, str],
    inner: Mapping[UUID, list[Inner]],
) -> Line:
    step = steps.get(number)
    parallel, asked = plan.get("parallel") or {}, plan.get("approval") or {}
    return Line(
        number=number,
        anchor=str(plan.get("key") or number),
        title=(step.title if step else "") or str(plan.get("title") or asked.get("title", "")),
        tool_name=step.tool_name if step else names.get(str(plan.get("toolToRunId", "")), ""),
        branch=str(parallel.get("branch", "")),
        step=step,
        input=input_of(step) if step else None,
        output=output_of(step) if step else None,
        bar=axis.bar(step) if step else None,
        iterations=loops.get(number),
        children=tuple(inner.get(step.pk, ())) if step else (),
        is_approval="approval" in plan,
    )


def _inner(run: Run) -> dict[UUID, list[Inner]]:
    """Return the runs of inner sequences by the step that called them; those in loops left out."""
    runs = list(
        Run.objects.filter(parent_step__run=run, parent_step__iteration=None)
        .select_related("tool")
        .order_by("created_at", "pk")[:MOST_INNER]
    )
    if not runs:
        return {}
    steps: dict[UUID, list[RunStep]] = {}
    rows = RunStep.objects.filter(run__in=runs, iteration=None).defer("input", "output")
    for row in rows.order_by("number", "pk"):
        steps.setdefault(row.run_id, []).append(row)
    found: dict[UUID, list[Inner]] = {}
    for child in runs:
        if child.parent_step_id is not None:
            inner = Inner(run=child, steps=steps.get(child.pk, []))
            found.setdefault(child.parent_step_id, []).append(inner)
    return found


def _names(plans: Iterable[JsonObject]) -> dict[str, str]:
    """Return the wire names of the tools of steps that have not begun."""
    ids = uuids_in(plan.get("toolToRunId") for plan in plans)
    if not ids:
        return {}
    named = Tool.objects.filter(pk__in=ids).values_list("pk", "wire_name")
    return {str(pk): name for pk, name in named}


def _loops(run: Run, axis: Axis, numbers: list[int]) -> dict[int, Iterations]:
    """Return how the loops among these steps go, those that have begun."""
    rows = run.steps.filter(number__in=numbers, iteration__isnull=False)
    counts: dict[int, dict[str, int]] = {}
    for number, status, count in rows.values_list("number", "status").annotate(Count("pk")):
        counts.setdefault(number, {})[status] = count
    return {
        number: _iterations(rows.filter(number=number), of_loop, axis)
        for number, of_loop in counts.items()
    }


def _iterations(rows: QuerySet[RunStep], counts: Mapping[str, int], axis: Axis) -> Iterations:
    begun = list(rows.defer("input", "output").order_by("iteration")[:MOST_MARKS])
    told = [(value, str(label), counts.get(value, 0)) for value, label in StepStatus.choices]
    return Iterations(
        shown=begun[:MOST_ITERATIONS],
        count=sum(counts.values()),
        counts=[each for each in told if each[2]],
        bars=[bar for row in begun if (bar := axis.bar(row))],
    )


def _blocks(lines: list[tuple[JsonObject, Line]]) -> list[Block]:
    """Put neighbours of one parallel group together, each branch by itself."""
    blocks = []
    for key, within in groupby(lines, key=_group):
        together = [line for _, line in within]
        branches: dict[str, list[Line]] = {}
        for line in together:
            branches.setdefault(line.branch, []).append(line)
        group = "" if key.startswith("#") else key
        named = [(name.replace("_", " ").capitalize(), rows) for name, rows in branches.items()]
        blocks.append(Block(group=group, branches=named))
    return blocks


def _group(item: tuple[JsonObject, Line]) -> str:
    plan, line = item
    parallel = plan.get("parallel") or {}
    return str(parallel.get("group", "")) or f"#{line.number}"
