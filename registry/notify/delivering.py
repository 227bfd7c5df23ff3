"""Send what is due: claim it, post it, write down how it went.

A delivery is claimed for a while before it is sent. A worker that dies between the sending and the
writing down leaves a claim that runs out, and the event is sent again under the same name: every
event comes at least once.
"""

import json
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, Window
from django.db.models.functions import RowNumber
from django.utils import timezone

from config.lib.jsontext import storable
from config.lib.sealing import NotOpenedError, open_sealed
from config.lib.types import JsonObject
from registry.models import EventDelivery, EventSubscription
from registry.models.event_subscription import DeliveryStatus, OffReason
from registry.models.event_types import TEST_EVENT
from registry.notify.retries import MOST_TRIES, wait_after
from registry.notify.sending import Attempt, send
from registry.notify.signing import signed

BATCH = 32
"""Deliveries that a worker sends at the same time."""

AT_ONCE = 4
"""Deliveries of one subscription that are under way at the same time, over all workers."""

KEPT_ATTEMPTS = 2 * MOST_TRIES
GRACE = timedelta(seconds=20)
"""How much longer than a message may take its claim holds."""


def events_deliver() -> int:
    """Send up to a batch of what is due; return how many were sent."""
    claimed = _claim()
    if not claimed:
        return 0
    with ThreadPoolExecutor(max_workers=len(claimed), thread_name_prefix="events") as pool:
        running: dict[Future[Attempt], EventDelivery] = {
            pool.submit(send, **message): delivery
            for delivery in claimed
            if (message := _message(delivery)) is not None
        }
        for future in as_completed(running):
            keep(running[future], future.result())
    return len(claimed)


def deliver(delivery: EventDelivery) -> EventDelivery:
    """Send one delivery that the caller has claimed, at once, and return it as it is now."""
    message = _message(delivery)
    if message is not None:
        keep(delivery, send(**message))
    return delivery


def claim_until(now: datetime) -> datetime:
    """Return when the claim of a delivery runs out that is sent now."""
    return now + timedelta(seconds=settings.EVENT_TIMEOUT_SECONDS) + GRACE


def _claim() -> list[EventDelivery]:
    """Take what is due, at most AT_ONCE of a subscription counting those under way elsewhere."""
    now = timezone.now()
    free = Q(claimed_until=None) | Q(claimed_until__lte=now)
    due = EventDelivery.objects.filter(free, status=DeliveryStatus.WAITING, next_at__lte=now)
    with transaction.atomic():
        subscriptions = list(
            EventSubscription.objects.select_for_update(skip_locked=True, of=("self",))
            .filter(Exists(due.filter(subscription=OuterRef("pk"))))
            .filter(active=True, owner__is_active=True)
            .select_related("owner")[:BATCH]
        )
        by_id = {each.pk: each for each in subscriptions}
        busy: dict[UUID, int] = dict(
            EventDelivery.objects.filter(status=DeliveryStatus.WAITING, claimed_until__gt=now)
            .filter(subscription__in=by_id)
            .values_list("subscription")
            .annotate(count=Count("pk"))
        )
        place = Window(RowNumber(), partition_by="subscription", order_by=["next_at", "pk"])
        found = due.filter(subscription__in=by_id).annotate(place=place)
        first = found.filter(place__lte=AT_ONCE).order_by("place", "next_at")
        taken: list[EventDelivery] = []
        taken.extend(
            each for each in first if each.place <= AT_ONCE - busy.get(each.subscription_id, 0)
        )
        del taken[BATCH:]
        for each in taken:
            each.subscription = by_id[each.subscription_id]
            each.claim, each.claimed_until = uuid4(), claim_until(now)
        EventDelivery.objects.bulk_update(taken, ["claim", "claimed_until"])
    return taken


def _message(delivery: EventDelivery) -> JsonObject | None:
    """Return what `send` takes; None where the secret cannot be opened, which ends the delivery."""
    subscription, now = delivery.subscription, timezone.now()
    try:
        keys = _keys(subscription, now)
    except NotOpenedError:
        error = "Its secret cannot be decrypted. Make another one."
        keep(delivery, Attempt(at=now, ms=0, code="credential_unreadable", message=error))
        return None
    body = body_of(delivery.payload)
    headers = signed(keys, delivery.event_id, now, body)
    return {"url": subscription.url, "body": body, "headers": headers, "secrets": keys}


def body_of(payload: JsonObject) -> str:
    """Return a payload as it is sent; the same one is the same text each time."""
    ordered = {name: payload[name] for name in ("type", "timestamp", "data")}
    return json.dumps(ordered, ensure_ascii=False, separators=(",", ":"))


def _keys(subscription: EventSubscription, now: datetime) -> list[str]:
    sealed: Sequence[bytes | None] = [subscription.secret]
    if subscription.previous_until and subscription.previous_until > now:
        sealed = [*sealed, subscription.previous_secret]
    return [open_sealed(each or b"") for each in sealed]


def keep(delivery: EventDelivery, attempt: Attempt) -> None:
    """Write down how it went, unless somebody else has claimed the delivery meanwhile."""
    now = timezone.now()
    delivery.tries += 1
    delivery.attempts = [*delivery.attempts, storable(attempt.as_json())][-KEPT_ATTEMPTS:]
    wait = _wait(delivery, attempt)
    if attempt.succeeded:
        delivery.status, delivery.ended_at = DeliveryStatus.DELIVERED, now
    elif wait is None:
        delivery.status, delivery.ended_at = DeliveryStatus.FAILED, now
    else:
        delivery.next_at = now + wait
    fields = ("tries", "attempts", "status", "ended_at", "next_at")
    with transaction.atomic():
        kept = EventDelivery.objects.filter(pk=delivery.pk, claim=delivery.claim).update(
            **{name: getattr(delivery, name) for name in fields}, claim=None, claimed_until=None
        )
        if kept and delivery.type != TEST_EVENT:
            _keep_of_subscription(delivery.subscription, attempt, now)
    delivery.claim = delivery.claimed_until = None


def _wait(delivery: EventDelivery, attempt: Attempt) -> timedelta | None:
    if delivery.type == TEST_EVENT or attempt.gone:
        return None
    return wait_after(
        delivery.tries, first_seconds=settings.EVENT_RETRY_SECONDS, asked=attempt.asked_wait
    )


def _keep_of_subscription(subscription: EventSubscription, attempt: Attempt, now: datetime) -> None:
    """Note since when an address fails; switch it off when it is gone, or failed for days."""
    row = EventSubscription.objects.filter(pk=subscription.pk)
    if attempt.succeeded:
        row.exclude(failing_since=None).update(failing_since=None)
        return
    off: OffReason | None = OffReason.GONE if attempt.gone else None
    row.filter(failing_since=None).update(failing_since=attempt.at)
    too_long = now - timedelta(days=settings.EVENT_OFF_AFTER_DAYS)
    if off is None and row.filter(failing_since__lte=too_long).exists():
        off = OffReason.FAILING
    if off is not None:
        row.filter(active=True).update(active=False, off_reason=off, off_at=now)
