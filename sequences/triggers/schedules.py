"""Make, change and delete schedules."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from config.lib.errors import Conflict, InvalidInput
from config.lib.jsontext import clean_text, size_of, storable
from config.lib.types import JsonObject
from registry.errors import InvalidArguments
from registry.models import Tool
from registry.schemas import validate_arguments
from sequences.models import Schedule
from sequences.triggers.cron import CronError, checked_cron, checked_zone, next_times
from sequences.triggers.standing import require_startable, require_usable

MOST = 50
"""Schedules, and webhooks likewise, that one person has for one sequence."""

LARGEST_INPUT = 64_000
"""Bytes of JSON that each run of a schedule is given."""

LONGEST_NAME = 80


@dataclass(frozen=True, kw_only=True)
class SchedulePlan:
    """What a person asks for."""

    name: str = ""
    cron: str
    timezone: str = "UTC"
    input: JsonObject
    enabled: bool = True


def schedule_create(
    user: User, tool: Tool, plan: SchedulePlan, *, scopes: Collection[str] | None = None
) -> Schedule:
    """Make a schedule; its runs have `scopes` (None: they are not limited).

    Raises InvalidInput with `extra.problems` by field, NotAllowed and Conflict.
    """
    require_usable(user, tool)
    require_room(Schedule.objects.filter(owner=user, tool=tool).count(), "schedules")
    schedule = Schedule(tool=tool, owner=user, **_checked(tool, plan, scopes))
    schedule.save(force_insert=True)
    return schedule


def schedule_change(
    schedule: Schedule, plan: SchedulePlan, *, scopes: Collection[str] | None = None
) -> Schedule:
    """Change a schedule; from now on it has the rights of whoever changes it.

    Raises what `schedule_create` does; one that is switched off may be changed whatever happened
    to its sequence.
    """
    if plan.enabled:
        require_startable(schedule)
    values = _checked(schedule.tool, plan, scopes)
    with transaction.atomic():
        locked = Schedule.objects.select_for_update().get(pk=schedule.pk)
        same = (locked.cron, locked.timezone) == (values["cron"], values["timezone"])
        if locked.enabled and plan.enabled and same:
            values["next_at"] = locked.next_at  # a time that is due now stays due
        for name, value in values.items():
            setattr(schedule, name, value)
        schedule.last_at = locked.last_at
        schedule.last_error = None
        schedule.save(update_fields=[*values, "last_error"])
    return schedule


def schedule_switch(
    schedule: Schedule, *, enabled: bool, scopes: Collection[str] | None = None
) -> Schedule:
    """Switch a schedule on or off; what was missed while it was off is not made up for."""
    if not enabled:
        Schedule.objects.filter(pk=schedule.pk).update(enabled=False, next_at=None)
        schedule.refresh_from_db(fields=["enabled", "next_at"])
        return schedule
    return schedule_change(schedule, plan_of(schedule, enabled=True), scopes=scopes)


def schedule_delete(schedule: Schedule) -> None:
    """Delete a schedule; the runs that it started are kept."""
    schedule.delete()


def plan_of(schedule: Schedule, **changes: Any) -> SchedulePlan:
    """Return what a schedule is, with changes."""
    names = ("name", "cron", "timezone", "input", "enabled")
    return SchedulePlan(**{**{name: getattr(schedule, name) for name in names}, **changes})


def next_after(cron: str, zone: str, after: datetime) -> datetime:
    """Return the next time of a schedule; raise InvalidInput when there is none."""
    try:
        if times := next_times(cron, zone, after):
            return times[0]
    except CronError as error:
        raise InvalidInput(str(error), "Change the schedule.") from None
    raise InvalidInput("This time never comes again.", "Change the schedule.")


def require_room(count: int, what: str) -> None:
    """Raise Conflict when a person has enough of these for one sequence."""
    if count >= MOST:
        raise Conflict(
            f"You have {count} {what} for this sequence; more are not taken.", "Delete one first."
        )


def named(name: str, problems: list[JsonObject]) -> str:
    """Return a name as it is kept; add to the problems what is wrong with it."""
    text = clean_text(name).strip()
    if len(text) > LONGEST_NAME:
        problems.append({"path": "$.name", "message": f"has more than {LONGEST_NAME} characters"})
    return text


def _checked(tool: Tool, plan: SchedulePlan, scopes: Collection[str] | None) -> dict[str, Any]:
    problems: list[JsonObject] = []
    name, cron = named(plan.name, problems), plan.cron
    next_at = None
    try:
        cron = checked_cron(plan.cron)
    except CronError as error:
        problems.append({"path": "$.cron", "message": str(error)})
    try:
        checked_zone(plan.timezone)
    except CronError as error:
        problems.append({"path": "$.timezone", "message": str(error)})
    if plan.enabled:
        problems += input_problems(tool, plan.input)
    if problems:
        told = "; ".join(f"{item['path'][2:]}: {item['message']}" for item in problems[:5])
        raise InvalidInput(
            f"The schedule cannot be saved: {told}", "Correct the named fields.", problems=problems
        )
    if plan.enabled:
        next_at = next_after(cron, plan.timezone, timezone.now())
    return {
        "name": name,
        "cron": cron,
        "timezone": plan.timezone,
        "input": storable(plan.input),
        "scopes": None if scopes is None else sorted(scopes),
        "enabled": plan.enabled,
        "next_at": next_at,
    }


def input_problems(tool: Tool, given: JsonObject) -> list[JsonObject]:
    """Return what is wrong with an input for the live version, each by its path below `input`."""
    if size_of(given) > LARGEST_INPUT:
        return [{"path": "$.input", "message": f"has more than {LARGEST_INPUT:,} bytes"}]
    try:
        validate_arguments(tool.input_schema, given)
    except InvalidArguments as error:
        return [
            {**problem, "path": f"$.input{problem['path'].removeprefix('$')}"}
            for problem in error.extra.get("problems") or ()
        ] or [{"path": "$.input", "message": error.message}]
    return []
