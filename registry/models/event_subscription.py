"""Programs that are told of events, and what was sent to them.

These are outgoing webhooks. A webhook that starts a run is `sequences.models.Webhook`.
"""

import json
import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from config.lib.sealing import SealedField
from registry.models.audit_triggers import audited
from registry.models.event_types import EventType


class OffReason(models.TextChoices):
    """Why a subscription was switched off."""

    OWNER = "owner", "By its owner"
    GOVERNOR = "governor", "By a governor"
    GONE = "gone", "The address answered 410 Gone"
    FAILING = "failing", "The address failed for days"


class EventSubscription(models.Model):
    """An address of a person's program, and which of their events it is told of.

    `tool` (a sequence is one, too) and `agent_id` narrow what is told. `previous_secret` signs
    beside `secret` until `previous_until`, so that a receiver has time to change over.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="event_subscriptions"
    )
    url = models.CharField(max_length=1_000, help_text="It may hold a secret: shown to its owner.")
    note = models.CharField(max_length=80, blank=True)
    types = ArrayField(models.CharField(max_length=32, choices=EventType))
    tool = models.ForeignKey(
        "registry.Tool", null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    agent_id = models.UUIDField(null=True, blank=True, help_text="Runs that this agent started.")
    secret = SealedField()
    secret_set_at = models.DateTimeField(default=timezone.now)
    previous_secret = SealedField(null=True, blank=True)
    previous_until = models.DateTimeField(null=True, blank=True)
    active = models.BooleanField(default=True)
    off_reason = models.CharField(max_length=16, choices=OffReason, blank=True)
    off_at = models.DateTimeField(null=True, blank=True)
    failing_since = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(active=True, off_reason="", off_at=None)
                | (
                    models.Q(active=False, off_at__isnull=False)
                    & models.Q(off_reason__in=OffReason.values)
                ),
                name="event_subscription_off_told",
            ),
            models.CheckConstraint(
                condition=models.Q(previous_secret=None, previous_until=None)
                | models.Q(previous_secret__isnull=False, previous_until__isnull=False),
                name="event_subscription_previous_ends",
            ),
            models.CheckConstraint(
                condition=models.Q(types__len__gt=0, types__contained_by=EventType.values),
                name="event_subscription_types_known",
            ),
        ]
        indexes = [
            models.Index(fields=["owner", "-created_at"], name="event_subscription_owner"),
            models.Index(fields=["-created_at"], name="event_subscription_time"),
        ]
        triggers = audited(
            "event_subscription",
            *("owner", "note", "types", "tool", "agent_id", "secret_set_at", "active"),
            "off_reason",  # neither the secrets nor the address, which may hold one
            label="coalesce(nullif(item.note, ''), item.id::text)",
        )

    def __str__(self) -> str:
        return self.note or f"event subscription {self.id}"

    @property
    def sealed_name(self) -> str:
        """Say whose it is, for an operator."""
        return f"the secret of event subscription {self.id} of {self.owner.username}"

    @property
    def host(self) -> str:
        """Return where it leads, without what may be secret in the address."""
        origin, _, rest = self.url.partition("://")
        return f"{origin}://{rest.partition('/')[0].partition('?')[0]}"

    @property
    def type_words(self) -> list[str]:
        """Return what it is told of, in words."""
        return [str(EventType(each).label) for each in self.types]


class PendingEvent(models.Model):
    """Something that happened, written by a trigger in the transaction in which it did.

    It is there only until a worker has made a delivery of it for each subscription that it is for.
    `facts` has what the trigger knew and the row may no longer say.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    type = models.CharField(max_length=32, choices=EventType)
    at = models.DateTimeField(default=timezone.now)
    tool_id = models.UUIDField(null=True, blank=True)
    facts = models.JSONField(default=dict)

    class Meta:
        indexes = [models.Index(fields=["at", "id"], name="pending_event_time")]

    def __str__(self) -> str:
        return f"{self.type} {self.id}"


class DeliveryStatus(models.TextChoices):
    WAITING = "waiting", "Waits"
    DELIVERED = "delivered", "Delivered"
    FAILED = "failed", "Failed"


class EventDelivery(models.Model):
    """One event on its way to one subscription: every attempt has the same `event_id` and payload.

    A worker that sends it holds it by `claim` until `claimed_until`. `attempts` has the latest, as
    `{at, ms, status, error: {code, message} | null, answer}`.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    subscription = models.ForeignKey(
        EventSubscription, on_delete=models.CASCADE, related_name="deliveries"
    )
    event_id = models.CharField(max_length=64)
    type = models.CharField(max_length=32)
    payload = models.JSONField()
    status = models.CharField(max_length=16, choices=DeliveryStatus, default=DeliveryStatus.WAITING)
    tries = models.PositiveSmallIntegerField(default=0, help_text="Since it was last asked for.")
    attempts = models.JSONField(default=list, blank=True)
    next_at = models.DateTimeField(default=timezone.now)
    claim = models.UUIDField(null=True, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["subscription", "event_id"], name="event_delivery_once"
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=DeliveryStatus.values),
                name="event_delivery_status_known",
            ),
            models.CheckConstraint(
                condition=models.Q(status=DeliveryStatus.WAITING, ended_at=None)
                | (~models.Q(status=DeliveryStatus.WAITING) & models.Q(ended_at__isnull=False)),
                name="event_delivery_ended_matches_status",
            ),
        ]
        indexes = [
            models.Index(
                fields=["subscription", "next_at"],
                name="event_delivery_due",
                condition=models.Q(status=DeliveryStatus.WAITING),
            ),
            models.Index(
                fields=["subscription"],
                name="event_delivery_failed",
                condition=models.Q(status=DeliveryStatus.FAILED),
            ),
            models.Index(fields=["subscription", "-created_at"], name="event_delivery_list"),
            models.Index(fields=["created_at"], name="event_delivery_time"),
            models.Index(
                fields=["ended_at"],
                name="event_delivery_ended",
                condition=models.Q(ended_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.event_id}"

    @property
    def payload_text(self) -> str:
        """Return what is sent, as people read it."""
        return json.dumps(self.payload, ensure_ascii=False, indent=2)
