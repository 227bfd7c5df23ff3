"""Send a test, and send a delivery again, because a person asks for it."""

from math import ceil
from uuid import uuid4

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from limits import RateLimitItemPerMinute

from registry.errors import RateLimited
from registry.limits import call_limits
from registry.models import EventDelivery, EventSubscription
from registry.models.event_subscription import DeliveryStatus
from registry.models.event_types import TEST_EVENT
from registry.notify.delivering import claim_until, deliver
from registry.notify.errors import DeliveryUnderWay
from registry.notify.hastening import tell_now
from registry.notify.payloads import test_payload

TESTS_A_MINUTE = 20
"""Of one person."""


def send_test(subscription: EventSubscription) -> EventDelivery:
    """Send a test event now, also where the subscription is off, and return how it went.

    Raises RateLimited: whoever asks often enough would have the product knock at any door.
    """
    now = timezone.now()
    limit = RateLimitItemPerMinute(TESTS_A_MINUTE)
    wait = call_limits.take(limit, "events:test", str(subscription.owner_id))
    if wait is not None:
        seconds = max(1, ceil(wait))
        raise RateLimited(
            f"You have sent {TESTS_A_MINUTE} test events within a minute.",
            f"Try again in {seconds} {'second' if seconds == 1 else 'seconds'}.",
            retry_after_seconds=seconds,
        )
    delivery = EventDelivery.objects.create(
        subscription=subscription,
        event_id=f"evt_{uuid4().hex}",
        type=TEST_EVENT,
        payload=test_payload(now, subscription.pk),
        claim=uuid4(),
        claimed_until=claim_until(now),
    )
    return deliver(delivery)


def redeliver(delivery: EventDelivery) -> EventDelivery:
    """Have an event sent again under its name, with all its tries.

    Raises DeliveryUnderWay, and RateLimited for a test, which is a new one.
    """
    now = timezone.now()
    if delivery.type == TEST_EVENT:
        return send_test(delivery.subscription)  # a test has one try
    free = Q(claimed_until=None) | Q(claimed_until__lte=now)
    changed = EventDelivery.objects.filter(free, pk=delivery.pk).update(
        status=DeliveryStatus.WAITING, ended_at=None, tries=0, next_at=now
    )
    if not changed:
        raise DeliveryUnderWay
    transaction.on_commit(tell_now)
    delivery.refresh_from_db()
    return delivery
