"""What the worker does for conversations."""

from celery import shared_task

from chat.turns import turns_close_stale
from chat.variables import expired


@shared_task
def forget_expired_values() -> int:
    """Delete the values of conversations whose time is over; return how many."""
    return expired().delete()[0]


@shared_task
def close_stale_turns() -> int:
    """Close turns whose process is gone, though nobody looks at them; return how many."""
    return turns_close_stale()
