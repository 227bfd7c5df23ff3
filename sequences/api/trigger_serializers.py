"""Shapes of schedules and webhooks in the REST API."""

from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from config.lib.api_bodies import Body
from sequences.models import Schedule, Webhook
from sequences.models.webhook import Signing
from sequences.triggers.cron import LONGEST_CRON, in_words
from sequences.triggers.lines import times_of
from sequences.triggers.schedules import LONGEST_NAME


class StartErrorSerializer(serializers.Serializer[Any]):
    """Why nothing was started last."""

    code = serializers.CharField()
    message = serializers.CharField()
    hint = serializers.CharField()
    at = serializers.DateTimeField()


class ScheduleSerializer(serializers.ModelSerializer[Schedule]):
    """A schedule; `next_times` are in its own time zone."""

    sequence = serializers.UUIDField(source="tool_id")
    sequence_name = serializers.CharField(source="tool.wire_name")
    words = serializers.SerializerMethodField()
    next_times = serializers.SerializerMethodField()
    last_error = StartErrorSerializer(allow_null=True)

    class Meta:
        model = Schedule
        fields: tuple[str, ...] = (
            *("id", "sequence", "sequence_name", "name", "cron", "timezone", "words", "input"),
            *("scopes", "enabled", "next_at", "next_times", "last_at", "last_error"),
            "created_at",
        )
        read_only_fields = fields

    def get_words(self, schedule: Schedule) -> str:
        """Return the cron expression in words."""
        return in_words(schedule.cron)

    @extend_schema_field(serializers.ListField(child=serializers.DateTimeField()))
    def get_next_times(self, schedule: Schedule) -> list[str]:
        """Return the next five times."""
        times = times_of(schedule.cron, schedule.timezone) if schedule.enabled else []
        return [time.isoformat() for time in times]


class ScheduleBodySerializer(Body):
    """What a schedule is made of; a change names only what is to change."""

    name = serializers.CharField(max_length=LONGEST_NAME, allow_blank=True, required=False)
    cron = serializers.CharField(max_length=LONGEST_CRON, help_text="Five fields.")
    timezone = serializers.CharField(max_length=64, required=False, help_text="IANA; else UTC.")
    input = serializers.DictField(required=False, help_text="What each run is given.")
    enabled = serializers.BooleanField(required=False)


class WebhookSerializer(serializers.ModelSerializer[Webhook]):
    """A webhook, without its secret."""

    sequence = serializers.UUIDField(source="tool_id")
    sequence_name = serializers.CharField(source="tool.wire_name")
    url = serializers.SerializerMethodField()
    last_error = StartErrorSerializer(allow_null=True)

    class Meta:
        model = Webhook
        fields: tuple[str, ...] = (
            *("id", "sequence", "sequence_name", "name", "url", "signing", "secret_set_at"),
            *("input_mapping", "scopes", "enabled", "last_at", "last_error", "created_at"),
        )
        read_only_fields = fields

    def get_url(self, webhook: Webhook) -> str:
        """Return the address that messages are posted to."""
        request = self.context.get("request")
        path = reverse("sequences:hook", args=[webhook.pk])
        return str(request.build_absolute_uri(path)) if request else path


class WebhookSecretSerializer(WebhookSerializer):
    """A webhook with its secret, in the one answer that has it."""

    secret = serializers.CharField()

    class Meta(WebhookSerializer.Meta):
        fields: tuple[str, ...] = (*WebhookSerializer.Meta.fields, "secret")
        read_only_fields = fields


class WebhookChangeSerializer(Body):
    """What of a webhook is to change."""

    name = serializers.CharField(max_length=LONGEST_NAME, allow_blank=True, required=False)
    input_mapping = serializers.DictField(
        child=serializers.CharField(),
        required=False,
        allow_null=True,
        help_text="For each input an expression (JMESPath) over `{body, headers}`; null: the body.",
    )
    enabled = serializers.BooleanField(required=False)


class WebhookBodySerializer(WebhookChangeSerializer):
    """What a webhook is made of."""

    signing = serializers.ChoiceField(Signing.choices, default=Signing.STANDARD)


class TestMessageSerializer(Body):
    """A message to try a webhook with."""

    body = serializers.DictField(required=False, help_text="The message; else an empty object.")


class ReceivedSerializer(serializers.Serializer[Any]):
    """What became of a message."""

    run = serializers.UUIDField(allow_null=True)
    status = serializers.CharField()
    url = serializers.CharField(allow_null=True)
