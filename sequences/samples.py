"""Real values to make a sequence with: what its steps gave in the last test or run."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from config.lib.types import JsonObject, JsonValue
from sequences.models import DraftOutput, Run, RunStep, SampleInput
from sequences.models.run_step import StepStatus

MOST_RUNS = 20
"""The newest runs in which an output is looked for."""

GIVEN: Final = (StepStatus.SUCCEEDED, StepStatus.REUSED, StepStatus.FELL_BACK)


@dataclass(frozen=True, kw_only=True)
class Place:
    """A step to look for: by its key, or by its number where a run's steps had no keys."""

    key: str
    number: int
    tool: str
    """The id of its tool; empty for a question to a person."""


@dataclass(frozen=True)
class Seen:
    """An output that was there, when, and where from: such as `the last test`."""

    value: JsonValue
    when: datetime
    where: str


@dataclass(frozen=True)
class Origin:
    """Where values may be from: a draft, which is not there before a first change, and its tool."""

    draft: UUID | None
    tool: UUID | None


def sample_input(origin: Origin, user: User) -> tuple[JsonObject, str]:
    """Return the input to show values of, and where it is from; empty where there is none.

    It is the newest saved sample, else what the person's newest test or run was given.
    """
    sample = SampleInput.objects.filter(draft=origin.draft).order_by("-created_at", "-pk").first()
    if sample is not None and isinstance(sample.input, dict):
        return sample.input, f"the sample “{sample.name}”"
    run = _runs(origin, user).values("input", "draft").first()
    if run is not None and isinstance(run["input"], dict):
        return run["input"], "the last test" if run["draft"] else "the last run"
    return {}, ""


def outputs_seen(
    origin: Origin, user: User, places: Sequence[Place], only: Collection[str] | None = None
) -> Mapping[str, Seen]:
    """Return the newest known output of each step by its key; `only` are the keys to look for.

    What was tested or written into the draft comes first, then the person's own runs.
    """
    wanted = [place for place in places if only is None or place.key in only]
    keys = {place.key for place in wanted}
    if not keys:
        return {}
    found = {
        row.step_key: Seen(
            row.output, row.updated_at, "what you wrote" if row.is_edited else "the last test"
        )
        for row in DraftOutput.objects.filter(
            draft=origin.draft, step_key__in=keys, error__isnull=True
        )
    }
    left = [place for place in wanted if place.key not in found]
    return {**found, **(_from_runs(origin, user, left) if left else {})}


def _from_runs(origin: Origin, user: User, places: Sequence[Place]) -> dict[str, Seen]:
    runs = list(_runs(origin, user).values_list("pk", flat=True)[:MOST_RUNS])
    rows = (
        RunStep.objects.filter(run__in=runs, iteration=None, status__in=GIVEN)
        .filter(output__isnull=False)
        .order_by("-started_at", "-number")
        .values_list("pk", "key", "number", "tool_id")
    )
    newest: dict[str, UUID] = {}
    for pk, key, number, tool in rows:
        for place in places:
            same_step = place.key == key if key else place.number == number
            if same_step and place.tool == str(tool or ""):
                newest.setdefault(place.key, pk)
    steps = RunStep.objects.select_related("run").in_bulk(newest.values())
    return {
        key: Seen(
            steps[pk].output,
            steps[pk].started_at,
            "the last test" if steps[pk].run.draft_id else "the last run",
        )
        for key, pk in newest.items()
        if pk in steps
    }


def _runs(origin: Origin, user: User) -> QuerySet[Run]:
    mine = Q(pk=None)
    if origin.draft is not None:
        mine |= Q(draft=origin.draft)
    if origin.tool is not None:
        mine |= Q(tool=origin.tool)
    return Run.objects.filter(mine, user=user).order_by("-created_at", "pk")
