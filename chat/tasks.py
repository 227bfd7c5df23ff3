"""What the worker does for conversations."""

from celery import shared_task

from chat.variables import expired


@shared_task
def forget_expired_values() -> int:
    """Delete the values of conversations whose time is over; return how many."""
    return expired().delete()[0]
