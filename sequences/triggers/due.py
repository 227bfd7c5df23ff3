"""Start what is due."""

import logging
from datetime import datetime
from uuid import UUID

from django.db import transaction

from config.lib.changes import changing
from config.lib.errors import DomainError, InvalidInput
from sequences.models import Run, Schedule
from sequences.runs import run_start
from sequences.triggers.schedules import next_after
from sequences.triggers.standing import ENDS, context_for, require_startable, told

logger = logging.getLogger(__name__)

A_ROUND = 500
"""Schedules that one beat starts at most; the rest is due at the next."""


def schedules_start(now: datetime) -> int:
    """Start the runs of the schedules that are due; return how many were started.

    However many times of a schedule were missed, they are made up for by one run.
    """
    due = Schedule.objects.filter(enabled=True, next_at__lte=now).order_by("next_at", "pk")
    started = 0
    for schedule_id, at in list(due.values_list("pk", "next_at")[:A_ROUND]):
        try:
            started += _start(schedule_id, at, now)
        except Exception:  # the boundary: the others are due, too; this one is tried again
            logger.exception("Schedule %s could not be looked at", schedule_id)
    return started


@transaction.atomic
def _start(schedule_id: UUID, at: datetime | None, now: datetime) -> bool:
    """Claim one time of a schedule and start its run, both or neither; say whether it started."""
    schedule = Schedule.objects.select_related("tool", "owner").filter(pk=schedule_id).first()
    if schedule is None:  # it was deleted meanwhile, maybe with its owner
        return False
    try:
        after = next_after(schedule.cron, schedule.timezone, now)
    except InvalidInput as error:  # a time zone that is no more, or a time that never comes again
        return _end(schedule, error, at)
    claimed = Schedule.objects.filter(pk=schedule_id, enabled=True, next_at=at).update(
        next_at=after, last_at=now
    )
    if not claimed:
        return False
    try:
        require_startable(schedule)
        run = run_start(schedule.tool, schedule.input, context=context_for(schedule))
    except ENDS as error:
        return _end(schedule, error, after)
    except DomainError as error:
        Schedule.objects.filter(pk=schedule_id).update(last_error=told(error))
        return False
    Run.objects.filter(pk=run.pk).update(schedule=schedule)
    Schedule.objects.filter(pk=schedule_id).update(last_error=None)
    return True


def _end(schedule: Schedule, error: DomainError, at: datetime | None) -> bool:
    with changing(reason=error.message):
        Schedule.objects.filter(pk=schedule.pk, next_at=at).update(
            enabled=False, next_at=None, last_error=told(error)
        )
    return False
