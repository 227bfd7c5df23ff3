"""Shapes of runs in the REST API."""

from typing import Any

from rest_framework import serializers

from sequences.models import Run
from sequences.models.run import RunStatus


class RunFilterSerializer(serializers.Serializer[Any]):
    """What a list of runs can be narrowed to."""

    status = serializers.ChoiceField(RunStatus.choices, required=False)
    tool = serializers.UUIDField(required=False)


class RunSerializer(serializers.ModelSerializer[Run]):
    """A run without its steps."""

    tool = serializers.UUIDField(source="tool_id")
    tool_name = serializers.CharField(source="tool.wire_name")
    version = serializers.IntegerField(source="tool_version.number")
    agent = serializers.UUIDField(source="agent_id", allow_null=True)
    retry_of = serializers.UUIDField(source="retry_of_id", allow_null=True)

    class Meta:
        model = Run
        fields: tuple[str, ...] = (
            *("id", "tool", "tool_name", "version", "status", "caller", "agent", "retry_of"),
            *("error", "cancel_requested_at", "created_at", "started_at", "finished_at"),
        )
        read_only_fields = fields


class RunStepSerializer(serializers.Serializer[Any]):
    """One entry of the execution log; `output` is absent where there is an `error`."""

    stepNumber = serializers.IntegerField()
    tool = serializers.CharField()
    status = serializers.CharField()
    message = serializers.CharField()
    output = serializers.JSONField(required=False)
    error = serializers.JSONField(required=False)
    started_at = serializers.CharField()
    duration_ms = serializers.IntegerField(allow_null=True)
    attempts = serializers.IntegerField()


class RunDetailSerializer(RunSerializer):
    """A run with its input, its output and what each step did."""

    input = serializers.JSONField()
    output = serializers.JSONField(allow_null=True)
    steps = RunStepSerializer(many=True)

    class Meta(RunSerializer.Meta):
        fields: tuple[str, ...] = (*RunSerializer.Meta.fields, "input", "output", "steps")
        read_only_fields = fields


class RunRetrySerializer(serializers.Serializer[Any]):
    """From where, and with which version, a run is tried again."""

    from_step = serializers.IntegerField(min_value=1, max_value=100, required=False)
    version = serializers.ChoiceField(["original", "current"], default="original")
    env = serializers.DictField(
        child=serializers.CharField(max_length=10_000),
        default=dict,
        help_text="Variables for the steps; those that were given to the run itself are gone.",
    )
