"""Have events told now instead of at the next beat."""

import logging

from celery import current_app
from kombu.exceptions import OperationalError

from registry.models import PendingEvent

logger = logging.getLogger(__name__)

TELL = "registry.tell_events"


def events_hasten() -> None:
    """Ask a worker to tell what has been committed; when the queue is away, beat does it later."""
    if PendingEvent.objects.exists():
        tell_now()


def tell_now() -> None:
    """Wake a worker for what is due."""
    try:
        current_app.send_task(TELL)
    except (OperationalError, OSError) as error:
        logger.warning("Events wait for the next beat: %s", error)
