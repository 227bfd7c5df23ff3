"""What the worker does: run sequences, and see to those that something died under."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from sequences.reaper import requeue_lost, resend_unsent
from sequences.running import execute
from sequences.testing import outputs_keep


@shared_task
def execute_run(run_id: str) -> None:
    """Run a queued run; a message that comes twice does nothing the second time."""
    execute(UUID(run_id))
    outputs_keep(UUID(run_id))


@shared_task
def recover_runs() -> tuple[int, int]:
    """Put runs back in the queue whose worker or whose message is gone; return how many of each."""
    now = timezone.now()
    return requeue_lost(now), resend_unsent(now)
