"""Shapes of event subscriptions and deliveries in the REST API."""

from typing import Any

from rest_framework import serializers

from config.lib.api_bodies import Body
from registry.models import EventDelivery, EventSubscription
from registry.models.event_subscription import OffReason
from registry.models.event_types import EventType
from registry.notify.sending import LONGEST_URL
from registry.notify.subscriptions import LONGEST_NOTE


class EventSubscriptionSerializer(serializers.ModelSerializer[EventSubscription]):
    """An event subscription, without its secret.

    `previous_until`: until then the secret before this one signs, too. `off_reason` says who or
    what switched it off: owner, governor, gone (the address answered 410) or failing.
    """

    types = serializers.ListField(child=serializers.ChoiceField(EventType.choices))
    tool = serializers.UUIDField(source="tool_id", allow_null=True)
    agent = serializers.UUIDField(source="agent_id", allow_null=True)
    off_reason = serializers.ChoiceField(OffReason.choices, allow_blank=True)

    class Meta:
        model = EventSubscription
        fields: tuple[str, ...] = (
            *("id", "url", "note", "types", "tool", "agent", "active", "off_reason", "off_at"),
            *("failing_since", "secret_set_at", "previous_until", "created_at"),
        )
        read_only_fields = fields


class EventSubscriptionSecretSerializer(EventSubscriptionSerializer):
    """An event subscription with its secret, in the one answer that has it."""

    secret = serializers.CharField()

    class Meta(EventSubscriptionSerializer.Meta):
        fields: tuple[str, ...] = (*EventSubscriptionSerializer.Meta.fields, "secret")
        read_only_fields = fields


class EventSubscriptionBodySerializer(Body):
    """What an event subscription is made of; a change names only what is to change."""

    url = serializers.CharField(max_length=LONGEST_URL, help_text="https://…")
    types = serializers.ListField(
        child=serializers.ChoiceField(EventType.choices), allow_empty=False, max_length=50
    )
    note = serializers.CharField(max_length=LONGEST_NOTE, allow_blank=True, required=False)
    tool = serializers.CharField(
        max_length=64,
        allow_blank=True,
        required=False,
        help_text="The id or wire name of a tool or sequence; empty: of all.",
    )
    agent = serializers.CharField(
        max_length=80,
        allow_blank=True,
        required=False,
        help_text="The id or short name of one of your agents, for runs that it started.",
    )


class EventSubscriptionChangeSerializer(EventSubscriptionBodySerializer):
    """What of an event subscription is to change, and whether it is on."""

    active = serializers.BooleanField(required=False)


class AttemptErrorSerializer(serializers.Serializer[Any]):
    """Why an attempt failed."""

    code = serializers.CharField()
    message = serializers.CharField()


class AttemptSerializer(serializers.Serializer[Any]):
    """One attempt: `status` is the HTTP status, null where nothing was answered."""

    at = serializers.DateTimeField()
    ms = serializers.IntegerField()
    status = serializers.IntegerField(allow_null=True)
    error = AttemptErrorSerializer(allow_null=True)
    answer = serializers.CharField(help_text="The beginning of what was answered.")


class EventDeliverySerializer(serializers.ModelSerializer[EventDelivery]):
    """One event on its way to a subscription; `event_id` is its `webhook-id`."""

    payload = serializers.DictField()
    attempts = AttemptSerializer(many=True)

    class Meta:
        model = EventDelivery
        fields = (
            *("id", "event_id", "type", "payload", "status", "tries", "attempts", "next_at"),
            *("created_at", "ended_at"),
        )
        read_only_fields = fields
