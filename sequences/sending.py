"""Put runs in the queue of the workers. The message says only which run is due.

It may be lost with its Redis, and it may come twice: `sequences.reaper` sends what was lost, and
one claim wins.
"""

import logging
from functools import partial
from uuid import UUID

from celery import current_app
from django.db import transaction
from django.utils import timezone
from kombu.exceptions import OperationalError

from config.lib.types import JsonObject
from sequences.models import Run
from sequences.models.run import RunStatus

logger = logging.getLogger(__name__)

QUEUE_UNREACHABLE: JsonObject = {
    "code": "queue_unreachable",
    "message": "The queue cannot be reached, so the run has to wait.",
    "hint": "It starts by itself once Redis and the worker answer; `manage.py doctor` says more.",
    "extra": {},
}


def enqueue_on_commit(run_id: UUID) -> None:
    """Hand a queued run to the workers once its row can be read there."""
    transaction.on_commit(partial(enqueue, run_id))


def enqueue(run_id: UUID) -> bool:
    """Send the message of a queued run; tell whether the queue took it.

    When the queue cannot be reached the run stays queued and its `error` says so.
    """
    waiting = Run.objects.filter(pk=run_id, status=RunStatus.QUEUED)
    try:
        current_app.send_task("sequences.tasks.execute_run", [str(run_id)], retry=False)
    except OperationalError as error:
        logger.warning("Run %s waits: the queue cannot be reached (%s)", run_id, error)
        waiting.update(error=QUEUE_UNREACHABLE)
        return False
    waiting.update(error=None, sent_at=timezone.now())
    return True
