"""Move a run from one state to the next, each time by a conditional update.

A worker that got the same message twice, a cancel that comes too late and a worker that was given
up for lost all find that the row is no longer in the state they expect, and change nothing.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, cast
from uuid import UUID, uuid4

from celery import current_task
from django.conf import settings
from django.db import connection, transaction
from django.db.models import QuerySet
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now
from django.utils import timezone

from config.lib.errors import Conflict
from config.lib.prepared import Worded, first_row
from config.lib.types import JsonObject, JsonValue
from sequences.metrics import run_ended
from sequences.models import Run, RunStep
from sequences.models.run import FINISHED, PAUSED, RunStatus
from sequences.models.run_step import StepStatus
from sequences.news import tell
from sequences.places import limit_of, one_at_a_time, places_free, send_next
from sequences.row_sql import changed, no_waiting
from sequences.sending import enqueue_on_commit
from sequences.signals import run_moved

LET_GO: JsonObject = {"lease": None, "lease_until": None, "hand_over": False}


class LeaseLost(Exception):
    """The run is no longer this worker's: another may have it, or it was cancelled."""


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a run ends; `error` is `{code, message, hint, extra}`."""

    status: RunStatus
    output: JsonValue = None
    error: JsonObject | None = None


CANCELLED: JsonObject = {
    "code": "cancelled",
    "message": "The run was cancelled.",
    "hint": "Run it again, or retry from the step that it had reached.",
    "extra": {},
}


_QUEUED = Worded(
    lambda: (
        Run.objects.select_related("tool", "tool_version", "user", "agent")
        .filter(pk=UUID(int=0), status=RunStatus.QUEUED)
        .order_by()
    )
)


def run_claim(run_id: UUID) -> Run | None:
    """Take a queued run for this worker, under a new lease.

    None when another has it, when it was cancelled, and when as many runs of its sequence are at
    work as its definition allows (`maxConcurrentRuns`): it is sent again when one of them ends.
    """
    found = _QUEUED.all(run_id, RunStatus.QUEUED.value)
    if not found:
        return None
    run = found[0]
    most = limit_of(run)
    if most is None:
        return _taken(run)
    with transaction.atomic():
        one_at_a_time(run.tool_id)
        return _taken(run) if places_free(run.tool_id, most, before=run) else None


def run_take(run: Run) -> Run | None:
    """Take a run inside of a step, for the worker that has the run around it.

    It need not be queued: whoever had it before had the run around it too. None when it is over or
    waits for a person.
    """
    return _taken(run, (RunStatus.QUEUED, RunStatus.RUNNING))


LEASE_UNTIL = "now() + make_interval(secs => %s::double precision)"
"""`lease_until` as SQL, with the seconds as its value."""


def lease_until() -> CombinedExpression:
    """Return until when a worker that gives a sign of life now has its run.

    It is told by the clock of the database: those of two machines may differ by more than a lease.
    """
    return Now() + timedelta(seconds=settings.RUN_LEASE_SECONDS)


def database_now() -> datetime:
    """Return what time it is by the clock that leases are told by."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    return cast(datetime, now)


def _taken(run: Run, statuses: tuple[RunStatus, ...] = (RunStatus.QUEUED,)) -> Run | None:
    now = timezone.now()
    values: JsonObject = {
        "status": RunStatus.RUNNING,
        "started_at": run.started_at or now,
        "lease": uuid4(),
        "hand_over": False,
        "worker": node_name(),
        "claims": run.claims + 1,
        "error": None,
    }
    sql, given = changed(run, values, "status = ANY(%s) AND claims = %s")
    sql = sql.replace("SET ", f"SET lease_until = {LEASE_UNTIL}, ", 1)
    given = [settings.RUN_LEASE_SECONDS, *given]
    # It reaches the disk with the first step at the latest. Before that nothing was done.
    given += [[status.value for status in statuses], run.claims]
    if first_row(f"{sql} RETURNING {no_waiting()}", given) is None:
        return None
    tell(run.pk)
    for name, value in values.items():
        setattr(run, name, value)
    return run


def node_name() -> str:
    """Return the name of the Celery worker that this code runs in; empty outside of one."""
    return (current_task.request.hostname or "") if current_task else ""


def held(run: Run) -> QuerySet[Run]:
    """Return the run as long as this worker has it, else nothing."""
    return Run.objects.filter(pk=run.pk, lease=run.lease, status=RunStatus.RUNNING)


def run_finish(run: Run, ending: Ending) -> None:
    """Write the end of a run that this worker has; raise LeaseLost when it has it no more."""
    _let_go(run, how_it_ends(ending))


def how_it_ends(ending: Ending) -> JsonObject:
    """Return the values of a run's row at its end."""
    return {
        "status": ending.status,
        "output": ending.output,
        "error": ending.error,
        "finished_at": timezone.now(),
        "given": None,
        **LET_GO,
    }


def run_pause(run: Run, status: RunStatus) -> None:
    """Let a run wait for a person: status `waiting` or `attention`; raise LeaseLost.

    When the person has answered already, while another branch was at work, it goes on at once:
    `run.status` then is `queued`.
    """
    with transaction.atomic():
        Run.objects.select_for_update().get(pk=run.pk)  # a person's answer waits for this, or we
        asks = run.steps.filter(status__in=(StepStatus.WAITING, StepStatus.IN_DOUBT)).exists()
        asks = asks or Run.objects.filter(parent_step__run=run, status__in=PAUSED).exists()
        _let_go(run, {"status": status if asks else RunStatus.QUEUED, "claims": 0, **LET_GO})
        if not asks:
            _send_root(run)


def run_requeue(run: Run) -> None:
    """Give a run back to the queue, for another worker to go on with; raise LeaseLost."""
    with transaction.atomic():
        _let_go(run, {"status": RunStatus.QUEUED, "claims": 0, **LET_GO})
        _send_root(run)


def runs_hand_over(node: str) -> int:
    """Ask a worker that is shutting down to give back its runs, each before its next step."""
    mine = Run.objects.filter(worker=node, status=RunStatus.RUNNING, hand_over=False)
    return mine.update(hand_over=True)


def _let_go(run: Run, values: dict[str, Any]) -> None:
    if not held(run).update(**values):
        raise LeaseLost(str(run))
    tell(run.pk)
    for name, value in values.items():
        setattr(run, name, value)
    send_next(run)


def _send_root(run: Run) -> None:
    if run.parent_step_id is None:
        enqueue_on_commit(run.pk)


def run_lock(run: Run) -> list[Run]:
    """Let nobody else move a run, or the runs around it, until the transaction ends.

    Returns them, the innermost first.
    """
    chain = [run]
    while (step := chain[-1].parent_step) is not None:
        chain.append(step.run)
    for each in reversed(chain):  # from outside in, as every other writer locks them
        Run.objects.select_for_update().get(pk=each.pk)
    return chain


def run_wake(run: Run) -> None:
    """Let a paused run go on, and the runs around it; the caller's transaction has the reason.

    A run that is at work (in another branch) finds the reason itself before it pauses.
    """
    with transaction.atomic():
        for each in run_lock(run):
            paused = Run.objects.filter(pk=each.pk, status__in=PAUSED)
            if paused.update(status=RunStatus.QUEUED, error=None, sent_at=None):
                tell(each.pk)
                _send_root(each)
                _tell_caller(each)


def _tell_caller(run: Run) -> None:
    """Tell the conversation that called a paused run that it moves again."""
    if run.turn_id is not None and run.parent_step_id is None:
        transaction.on_commit(partial(run_moved.send, sender=Run, run_id=run.pk))


def run_cancel(run: Run) -> None:
    """Cancel a run: at once while no worker has it, else soon, when its worker sees the request.

    Raises Conflict when it is over already.
    """
    with transaction.atomic():
        now = timezone.now()
        run_lock(run)
        status = Run.objects.values_list("status", flat=True).get(pk=run.pk)
        if status in FINISHED:
            raise Conflict("This run is over already.", "There is nothing left to cancel.")
        if status == RunStatus.RUNNING:
            Run.objects.filter(pk=run.pk).update(cancel_requested_at=now)
            tell(run.pk)
        else:
            run_end_all(run, Ending(status=RunStatus.CANCELLED, error=CANCELLED), now)
            Run.objects.filter(pk=run.pk).update(cancel_requested_at=now)
            _tell_caller(run)
            if run.parent_step is not None:
                run_wake(run.parent_step.run)
    run.refresh_from_db(fields=["status", "cancel_requested_at", "finished_at", "error"])


def run_end_all(run: Run, ending: Ending, now: datetime) -> None:
    """End a run that no worker has, with the runs inside of it and their open steps.

    A step in doubt stays so: how the run ended does not say what the step did.
    """
    for inner in Run.objects.filter(parent_step__run=run).exclude(status__in=FINISHED):
        run_end_all(inner, ending, now)
    error = ending.error or {}
    RunStep.objects.filter(run=run, status__in=(StepStatus.RUNNING, StepStatus.WAITING)).update(
        status=StepStatus.FAILED, error=error, message=error.get("message", "")
    )
    ended = (
        Run.objects.filter(pk=run.pk)
        .exclude(status__in=FINISHED)
        .update(status=ending.status, error=ending.error, finished_at=now, given=None, **LET_GO)
    )
    if ended:
        transaction.on_commit(partial(run_ended, ending.status.value, run.started_at))
    tell(run.pk)
