"""What the worker does: run sequences, and see to those that were left behind."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from sequences.launch import resend_waiting
from sequences.runner import execute
from sequences.states import runs_fail_abandoned
from sequences.triggers.deliveries import deliveries_clear
from sequences.triggers.due import schedules_start


@shared_task
def execute_run(run_id: str) -> None:
    """Run a queued run; a message that comes twice does nothing the second time."""
    execute(UUID(run_id))


@shared_task
def resend_waiting_runs() -> int:
    """Put runs in the queue again that no worker has claimed."""
    return resend_waiting(timezone.now())


@shared_task
def fail_abandoned_runs() -> int:
    """Fail the runs whose worker is gone."""
    return runs_fail_abandoned(timezone.now())


@shared_task(name="sequences.start_due_schedules")
def start_due_schedules() -> int:
    """Start the runs that are due; beats that overlap share them out."""
    return schedules_start(timezone.now())


@shared_task(name="sequences.forget_deliveries")
def forget_deliveries() -> int:
    """Forget the names of messages that came to webhooks long ago."""
    return deliveries_clear(timezone.now())
