"""Let a run rest until a person has said something."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from django.db import transaction

from config.lib.errors import Conflict
from registry.errors import Fault, ToolError
from sequences.models import Run, RunStep
from sequences.models.run import RunStatus
from sequences.models.run_step import StepStatus
from sequences.states import run_cancel, run_lock, run_pause, run_requeue, run_wake


class RunWaits(ToolError):
    """The sequence waits for a person."""

    code = "run_waits"
    health = Fault.NONE
    actor = "owner"
    default_hint = "It goes on once its question is answered on the page of the run."

    def __init__(
        self, message: str = "", hint: str = "", *, stands: str = RunStatus.WAITING, **extra: Any
    ) -> None:
        super().__init__(message, hint, **extra)
        self.stands = stands
        """How the run stands; `queued` where it only waits for another worker."""


@transaction.atomic
def hand_over(run: Run) -> None:
    """Give a run back to the queue, for another worker to go on with."""
    run_lock(run)
    run_requeue(run)
    _end_if_cancelled(run)


@transaction.atomic
def pause(run: Run, rows: Iterable[RunStep]) -> None:
    """Let go of a run until the questions of its steps, or of the runs inside of it, are answered.

    `rows` are its steps as this worker knows them. One that was answered while the run was still
    at work lets it go on at once.
    """
    run_lock(run)  # whoever answers or cancels comes before this, or behind it
    waiting = [row.pk for row in rows if row.status == StepStatus.WAITING]
    inside = Run.objects.filter(parent_step__in=waiting)
    attention = inside.filter(status=RunStatus.ATTENTION).exists()
    run_pause(run, RunStatus.ATTENTION if attention else RunStatus.WAITING)
    now = RunStep.objects.filter(pk__in=waiting).prefetch_related("child_runs")
    if any(map(_goes_on, now)):
        run_wake(run)
    _end_if_cancelled(run)


def _end_if_cancelled(run: Run) -> None:
    """End a run whose cancel was asked for while this worker was letting go of it."""
    if Run.objects.filter(pk=run.pk, cancel_requested_at__isnull=False).exists():
        with suppress(Conflict):  # another worker may have ended it by now
            run_cancel(run)


def _goes_on(row: RunStep) -> bool:
    """Tell whether a step that waited does so no longer."""
    inside = list(row.child_runs.all())
    answered = bool(inside) and not any(run.is_paused for run in inside)
    return row.status != StepStatus.WAITING or answered
