"""Find the runs that something died under, and let them go on: beat asks every few seconds."""

import logging
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID

from celery import current_app
from django.db import transaction
from django.db.models import Q
from kombu.exceptions import OperationalError

from config.lib.types import JsonObject
from sequences.models import Run, RunStep
from sequences.models.run import RunStatus
from sequences.models.run_step import OPEN
from sequences.places import limit_of, places_free
from sequences.sending import enqueue, enqueue_on_commit
from sequences.states import CANCELLED, LET_GO, Ending, run_end_all

logger = logging.getLogger(__name__)

UNSENT = timedelta(seconds=10)
"""A run that has been queued for so long may have lost its message."""

MOST_CLAIMS = 5
"""So many workers may die under a run, one after the other, with no step finished in between."""

MOST_SENT = 1_000
"""Runs that one sweep sends again."""

WORKER_LOST: JsonObject = {
    "code": "worker_lost",
    "message": f"{MOST_CLAIMS} workers died under this run before it finished another step.",
    "hint": "The step it reached may need more memory than a worker has; see the worker's log.",
    "extra": {},
}


def requeue_lost(now: datetime) -> int:
    """Put runs back in the queue whose worker gave no sign of life; return how many."""
    lost = Run.objects.filter(status=RunStatus.RUNNING, lease_until__lt=now, parent_step=None)
    count = 0
    for run_id in list(lost.values_list("pk", flat=True)):
        try:
            count += _requeue(run_id, now)
        except Exception:  # the boundary: the others are lost, too; this one is tried again
            logger.exception("Run %s could not be put back in the queue", run_id)
    return count


@transaction.atomic
def _requeue(run_id: UUID, now: datetime) -> bool:
    """Take a run from its worker, unless that has given a sign of life by now."""
    lost = Run.objects.select_for_update(of=("self",)).select_related("tool_version")
    run = lost.filter(pk=run_id, status=RunStatus.RUNNING, lease_until__lt=now).first()
    if run is None:
        return False
    inside = list(_at_work_inside(run))
    leases = [each.lease for each in (run, *inside)]
    finished = RunStep.objects.filter(lease__in=leases).exclude(status__in=OPEN).exists()
    for each in (run, *inside):
        Run.objects.filter(pk=each.pk, status=RunStatus.RUNNING).update(
            status=RunStatus.QUEUED,
            claims=0 if finished else each.claims,
            sent_at=None,
            **LET_GO,
        )
    logger.warning("Run %s goes back to the queue: %s gave no sign of life", run, run.worker)
    if run.cancel_requested_at or (run.claims >= MOST_CLAIMS and not finished):
        run_end_all(run, _ending(run), now)
    else:
        enqueue_on_commit(run.pk)
    return True


def _ending(run: Run) -> Ending:
    if run.cancel_requested_at:
        return Ending(status=RunStatus.CANCELLED, error=CANCELLED)
    return Ending(status=RunStatus.FAILED, error=WORKER_LOST)


def _at_work_inside(run: Run) -> Iterator[Run]:
    for inner in Run.objects.filter(parent_step__run=run, status=RunStatus.RUNNING):
        yield inner
        yield from _at_work_inside(inner)


def resend_unsent(now: datetime) -> int:
    """Send queued runs again whose message was lost with its Redis; return how many.

    The queue says how many messages it still holds. So many of the runs that wait longest need no
    other; sent twice, they would do no harm but take time.
    """
    before = now - UNSENT
    waiting = (
        Run.objects.filter(
            Q(sent_at=None, created_at__lt=before) | Q(sent_at__lt=before),
            status=RunStatus.QUEUED,
            parent_step=None,
        )
        .select_related("tool_version")
        .order_by("created_at", "pk")
    )
    due = list(islice(_with_a_place(waiting.iterator(MOST_SENT)), MOST_SENT))
    lost = len(due) - _messages() if due else 0
    return sum(enqueue(run.pk) for run in due[: max(0, lost)])


def _with_a_place(runs: Iterable[Run]) -> Iterator[Run]:
    """Leave out runs that wait for another run of their sequence to end."""
    free: dict[UUID | None, int] = {}
    for run in runs:
        most = limit_of(run)
        if most is not None:
            left = free.setdefault(run.tool_id, places_free(run.tool_id, most))
            if left == 0:
                continue
            free[run.tool_id] = left - 1
        yield run


def _messages() -> int:
    """Return how many messages wait in the queue; none when it cannot be reached."""
    with current_app.connection_for_read() as broker:
        away: Any = (OperationalError, *broker.connection_errors, *broker.channel_errors)
        try:
            channel: Any = broker.default_channel
            queue = channel.queue_declare(current_app.conf.task_default_queue)
        except away:
            return 0
    return int(queue.message_count)
