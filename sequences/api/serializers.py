"""Shapes of runs in the REST API."""

from typing import Any

from django.urls import reverse
from rest_framework import serializers

from config.lib.api_bodies import Body, VariablesField
from registry.mcp.settings import VARIABLE
from sequences.models import Run, RunArtifact
from sequences.models.run import RunStatus
from sequences.requests import LONGEST_NOTE
from sequences.run_filters import STARTED, RunFilters


class RunFilterSerializer(serializers.Serializer[Any]):
    """What a list of runs can be narrowed to."""

    status = serializers.ChoiceField(RunStatus.choices, required=False)
    tool = serializers.UUIDField(required=False)
    started = serializers.ChoiceField(
        STARTED,
        required=False,
        help_text="What started it. Tests of drafts are listed for `test` alone.",
    )
    since = serializers.DateField(required=False, help_text="A day, UTC; runs of it and later.")
    until = serializers.DateField(required=False, help_text="A day, UTC; runs of it and before.")
    q = serializers.CharField(
        required=False, max_length=36, help_text="How the id of the run begins."
    )

    def filters(self) -> RunFilters:
        """Return the filters that a valid query names."""
        return RunFilters(**{name: str(value) for name, value in self.validated_data.items()})


class RunSerializer(serializers.ModelSerializer[Run]):
    """A run without its steps. A test of a draft has no `version`, and perhaps no `tool` yet."""

    tool = serializers.UUIDField(source="tool_id", allow_null=True)
    tool_name = serializers.CharField(source="name")
    version = serializers.IntegerField(source="tool_version.number", allow_null=True)
    agent = serializers.UUIDField(source="agent_id", allow_null=True)
    retry_of = serializers.UUIDField(source="retry_of_id", allow_null=True)
    draft = serializers.UUIDField(source="draft_id", allow_null=True)
    schedule = serializers.UUIDField(source="schedule_id", allow_null=True)
    webhook = serializers.UUIDField(source="webhook_id", allow_null=True)
    parent_step = serializers.UUIDField(source="parent_step_id", allow_null=True)

    class Meta:
        model = Run
        fields: tuple[str, ...] = (
            *("id", "tool", "tool_name", "version", "status", "caller", "agent", "retry_of"),
            *("draft", "schedule", "webhook", "parent_step"),
            *("error", "cancel_requested_at", "created_at", "started_at", "finished_at"),
        )
        read_only_fields = fields


class RunStepSerializer(serializers.Serializer[Any]):
    """What one step did, or one iteration of it; `output` is absent where there is an `error`.

    An iteration stands behind its step and has its place in the list, from 0. An output of a very
    long answer is `{truncated, bytes, preview}`; `…/steps/{id}/` has all of it.
    """

    id = serializers.UUIDField()
    stepNumber = serializers.IntegerField()
    iteration = serializers.IntegerField(allow_null=True)
    key = serializers.CharField(allow_blank=True)
    title = serializers.CharField(allow_blank=True)
    tool = serializers.CharField(allow_blank=True)
    tool_version = serializers.IntegerField(allow_null=True)
    status = serializers.CharField()
    message = serializers.CharField(allow_blank=True)
    output = serializers.JSONField(required=False)
    error = serializers.JSONField(required=False)
    started_at = serializers.CharField()
    duration_ms = serializers.IntegerField(allow_null=True)
    attempts = serializers.IntegerField()


class RunStepDetailSerializer(RunStepSerializer):
    """One step with what it was given and all that it gave."""

    input = serializers.JSONField(allow_null=True)


class RunRequestSerializer(serializers.Serializer[Any]):
    """What a run asks a person; `approved` is null until it is answered."""

    id = serializers.UUIDField()
    step = serializers.UUIDField()
    stepNumber = serializers.IntegerField()
    title = serializers.CharField(allow_blank=True)
    message = serializers.CharField(allow_blank=True)
    inputSchema = serializers.JSONField(allow_null=True)
    asked_at = serializers.CharField()
    expires_at = serializers.CharField(allow_null=True)
    approved = serializers.BooleanField(allow_null=True)
    values = serializers.JSONField(allow_null=True)
    note = serializers.CharField(allow_blank=True)
    answered_by = serializers.CharField(allow_null=True)
    answered_at = serializers.CharField(allow_null=True)


class RunArtifactSerializer(serializers.ModelSerializer[RunArtifact]):
    """A file that a step made, without its content, which is at `url`."""

    step = serializers.UUIDField(source="step_id", read_only=True, allow_null=True)
    mediaType = serializers.CharField(source="media_type", read_only=True)
    createdAt = serializers.DateTimeField(source="created_at", read_only=True)
    url = serializers.SerializerMethodField()

    class Meta:
        model = RunArtifact
        fields = (
            "id",
            "name",
            "version",
            "step",
            "mediaType",
            "size",
            "digest",
            "createdAt",
            "url",
        )

    def get_url(self, artifact: RunArtifact) -> str:
        """Return the place of the content in the REST API."""
        return reverse("run-artifact", args=[artifact.run_id, artifact.pk])


class RunDetailSerializer(RunSerializer):
    """A run with its input, its output, what each step did, and what it asked people."""

    input = serializers.JSONField()
    output = serializers.JSONField(allow_null=True)
    steps = RunStepSerializer(many=True)
    requests = RunRequestSerializer(many=True)
    artifacts = RunArtifactSerializer(many=True)

    class Meta(RunSerializer.Meta):
        fields: tuple[str, ...] = (
            *(*RunSerializer.Meta.fields, "input", "output"),
            *("steps", "requests", "artifacts"),
        )
        read_only_fields = fields


class RequestAnswerSerializer(Body):
    """The answer to what a run asks."""

    approved = serializers.BooleanField()
    values = serializers.DictField(
        required=False, allow_null=True, help_text="What its form asks for, by `inputSchema`."
    )
    note = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=LONGEST_NOTE
    )


class StepResolveSerializer(Body):
    """What became of a step in doubt, or what is to become of it."""

    action = serializers.ChoiceField(
        [
            ("retry", "call its tool once more, which may do its work twice"),
            ("done", "it was done, and gave `output`"),
            ("skip", "go on without it"),
        ]
    )
    output = serializers.JSONField(required=False, allow_null=True, default=None)


class RunRetrySerializer(Body):
    """From where, and with which version, a run is tried again."""

    from_step = serializers.IntegerField(min_value=1, max_value=100, required=False)
    version = serializers.ChoiceField(["original", "current"], default="original")
    env = VariablesField(
        names=VARIABLE,
        default=dict,
        help_text="Variables for the steps; those that were given to the run itself are gone.",
    )
