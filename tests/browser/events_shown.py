"""Event subscriptions of every look, for the showroom."""

from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from registry.models import EventSubscription
from registry.models.event_types import EventType
from tests import factories


def show_events(admin: User) -> None:
    """Make one that is well, one that fails and one that was switched off."""
    now = timezone.now()
    pager = factories.make_event_subscription(
        admin, note="pager", url="https://pager.example.com/hooks/outfitter", types=EventType.values
    )
    refused = {"code": "event_refused", "message": "The address answered 503 Service Unavailable."}
    taken = {"at": now.isoformat(), "ms": 84, "status": 204, "error": None, "answer": ""}
    failed = {**taken, "status": 503, "error": refused, "answer": "try later"}
    timed_out = {
        **failed,
        "status": None,
        "error": {"code": "event_timeout", "message": "No answer within 10 seconds."},
    }
    for place, (status, attempts) in enumerate(
        (
            ("delivered", [taken]),
            ("delivered", [failed, taken]),
            ("failed", [timed_out] * 8),
        )
    ):
        pager.deliveries.create(
            event_id=f"evt_shown_{place}",
            type="tool.broken",
            payload={"type": "tool.broken", "timestamp": now.isoformat(), "data": {"tool": {}}},
            status=status,
            attempts=attempts,
            ended_at=now,
        )
    pager.deliveries.filter(event_id="evt_1").update(
        attempts=[failed], tries=1, next_at=now + timedelta(hours=2)
    )
    factories.make_event_subscription(admin, note="failing", failing_since=now)
    off = factories.make_event_subscription(admin, note="off")
    EventSubscription.objects.filter(pk=off.pk).update(
        active=False, off_reason="gone", off_at=now, note="off"
    )
