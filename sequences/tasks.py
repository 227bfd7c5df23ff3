"""What the worker does: run sequences, and see to those that something died under."""

import logging
from threading import Thread
from uuid import UUID

from celery import shared_task
from celery.signals import worker_shutting_down
from django.db import DatabaseError, connection
from django.utils import timezone

from registry.notify.hastening import events_hasten
from sequences.reaper import requeue_lost, resend_unsent
from sequences.requests import requests_expire
from sequences.running import execute
from sequences.states import database_now, runs_hand_over
from sequences.triggers.deliveries import deliveries_clear
from sequences.triggers.due import schedules_start

logger = logging.getLogger(__name__)


@shared_task
def execute_run(run_id: str) -> None:
    """Run a queued run; a message that comes twice does nothing the second time."""
    execute(UUID(run_id))
    events_hasten()


@shared_task
def recover_runs() -> tuple[int, int]:
    """Put runs back in the queue whose worker or whose message is gone; return how many of each."""
    return requeue_lost(database_now()), resend_unsent(timezone.now())


@shared_task
def expire_requests() -> int:
    """Fail the approval steps that nobody answered in time; return how many."""
    return requests_expire(timezone.now())


@shared_task(name="sequences.start_due_schedules")
def start_due_schedules() -> int:
    """Start the runs that are due; beats that overlap share them out."""
    return schedules_start(timezone.now())


@shared_task(name="sequences.forget_deliveries")
def forget_deliveries() -> int:
    """Forget the names of messages that came to webhooks long ago."""
    return deliveries_clear(timezone.now())


@worker_shutting_down.connect(weak=False)
def _hand_over(sender: str, **_: object) -> None:
    """Let the runs of this worker go on in another; it is told in the worker's main process.

    That runs this as a signal handler, where nothing must wait for the database.
    """
    Thread(target=_ask_to_hand_over, args=[sender], daemon=True).start()


def _ask_to_hand_over(node: str) -> None:
    try:
        runs_hand_over(node)
    except DatabaseError as error:
        logger.warning("The runs of %s are not given to another worker: %s", node, error)
    finally:
        connection.close()
