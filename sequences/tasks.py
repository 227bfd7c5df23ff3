"""What the worker does: run sequences, and see to those that were left behind."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from sequences.launch import resend_waiting
from sequences.runner import execute
from sequences.states import runs_fail_abandoned
from sequences.testing import outputs_keep


@shared_task
def execute_run(run_id: str) -> None:
    """Run a queued run; a message that comes twice does nothing the second time."""
    execute(UUID(run_id))
    outputs_keep(UUID(run_id))


@shared_task
def resend_waiting_runs() -> int:
    """Put runs in the queue again that no worker has claimed."""
    return resend_waiting(timezone.now())


@shared_task
def fail_abandoned_runs() -> int:
    """Fail the runs whose worker is gone."""
    return runs_fail_abandoned(timezone.now())
