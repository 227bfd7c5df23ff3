"""Forget deliveries whose time is over."""

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from registry.models import EventDelivery

ROWS_A_BATCH = 5_000


def deliveries_forget() -> int:
    """Delete deliveries that are older than they are kept, sent or not; return how many."""
    before = timezone.now() - timedelta(days=settings.EVENT_KEPT_DAYS)
    old = EventDelivery.objects.filter(created_at__lt=before).order_by("created_at")
    deleted = 0
    while batch := list(old.values_list("pk", flat=True)[:ROWS_A_BATCH]):
        deleted += EventDelivery.objects.filter(pk__in=batch).delete()[0]
    return deleted
