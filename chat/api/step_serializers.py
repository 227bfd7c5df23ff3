"""Shapes of what the model saw."""

from rest_framework import serializers

from chat.models import ModelStep


class StepSerializer(serializers.ModelSerializer[ModelStep]):
    """One request to a model.

    `messages` stand behind the first `shared` ones of the step before; `tools` are null where they
    are those of the step before. `cost` is in US dollars, null where no price is known.
    """

    firstTokenMs = serializers.IntegerField(
        source="first_token_ms", read_only=True, allow_null=True
    )
    durationMs = serializers.IntegerField(source="duration_ms", read_only=True, allow_null=True)
    createdAt = serializers.DateTimeField(source="created_at", read_only=True)

    class Meta:
        model = ModelStep
        fields = (
            *("number", "model", "protocol", "attempts", "shared", "messages", "tools"),
            *("compaction", "usage", "cost", "firstTokenMs", "durationMs", "error", "createdAt"),
        )
