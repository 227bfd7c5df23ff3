"""Move a run from one state to the next, each time by a conditional update.

A worker that got the same message twice, a cancel that comes too late and a worker that was given
up for lost all find that the row is no longer in the state they expect, and change nothing.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Coalesce
from django.utils import timezone

from config.lib.errors import Conflict
from config.lib.types import JsonObject, JsonValue
from sequences.models import Run, RunStep
from sequences.models.run import RunStatus
from sequences.models.run_step import StepStatus

LEASE = timedelta(seconds=30)
"""How long a worker has a run without giving a sign of life; it gives one every 5 s."""


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a run ends; `error` is `{code, message, hint, extra}`."""

    status: RunStatus
    output: JsonValue = None
    error: JsonObject | None = None


def run_claim(run_id: UUID) -> Run | None:
    """Take a queued run for this worker; None when another has it or it was cancelled."""
    now = timezone.now()
    claimed = Run.objects.filter(pk=run_id, status=RunStatus.QUEUED).update(
        status=RunStatus.RUNNING,
        started_at=Coalesce("started_at", now),
        lease=uuid4(),
        lease_until=now + LEASE,
        claims=F("claims") + 1,
        error=None,
    )
    if not claimed:
        return None
    return Run.objects.select_related("tool", "tool_version", "user", "agent").get(pk=run_id)


def run_finish(run: Run, ending: Ending) -> None:
    """Write the end of a running run, and read it back in case it had ended before."""
    Run.objects.filter(pk=run.pk, status=RunStatus.RUNNING).update(
        status=ending.status,
        output=ending.output,
        error=ending.error,
        finished_at=timezone.now(),
        given=None,
        lease=None,
        lease_until=None,
    )
    run.refresh_from_db(fields=["status", "output", "error", "finished_at"])


def run_cancel(run: Run) -> None:
    """Cancel a run: at once while it waits, else soon, when its worker sees the request.

    Raises Conflict when it is over already.
    """
    now = timezone.now()
    waiting = Run.objects.filter(pk=run.pk, status=RunStatus.QUEUED)
    if not waiting.update(
        status=RunStatus.CANCELLED,
        cancel_requested_at=now,
        finished_at=now,
        error=CANCELLED,
        given=None,
    ) and not Run.objects.filter(pk=run.pk, status=RunStatus.RUNNING).update(
        cancel_requested_at=now
    ):
        raise Conflict("This run is over already.", "There is nothing left to cancel.")
    run.refresh_from_db(fields=["status", "cancel_requested_at", "finished_at", "error"])


def runs_fail_abandoned(now: datetime) -> int:
    """Fail the runs whose worker is gone, each with the step it had reached; return how many."""
    silent = Run.objects.filter(status=RunStatus.RUNNING, lease_until__lt=now)
    return sum(_fail_abandoned(run, now) for run in silent.order_by("created_at", "pk"))


CANCELLED: JsonObject = {
    "code": "cancelled",
    "message": "The run was cancelled.",
    "hint": "Run it again, or retry from the step that it had reached.",
    "extra": {},
}


@transaction.atomic
def _fail_abandoned(run: Run, now: datetime) -> int:
    step = run.steps.filter(status=StepStatus.RUNNING).order_by("-number").first()
    reached = step.number if step else run.steps.count() + 1
    error = {
        "code": "worker_lost",
        "message": f"The worker stopped while step {reached} was due or running.",
        "hint": f"Check what the step did, then retry from step {reached}.",
        "extra": {"step": reached},
    }
    failed = Run.objects.filter(pk=run.pk, status=RunStatus.RUNNING, lease_until__lt=now).update(
        status=RunStatus.FAILED,
        finished_at=now,
        error=error,
        given=None,
        lease=None,
        lease_until=None,
    )
    if failed:
        RunStep.objects.filter(run=run, status=StepStatus.RUNNING).update(
            status=StepStatus.FAILED, error=error, message=error["message"]
        )
    return failed
