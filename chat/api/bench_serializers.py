"""Shapes of test benches on the wire."""

from rest_framework import serializers

from chat.bench import MOST_CASES, Summary
from chat.models import BenchCase, BenchResult, BenchRun
from config.lib.api_bodies import Body
from config.lib.types import JsonObject


class BenchCaseSerializer(serializers.ModelSerializer[BenchCase]):
    """A prompt and the tool that it should call; an empty `tool`: none."""

    createdAt = serializers.DateTimeField(source="created_at", read_only=True)

    class Meta:
        model = BenchCase
        fields = ("id", "prompt", "tool", "createdAt")


class BenchCaseWriteSerializer(Body):
    """A case to keep."""

    prompt = serializers.CharField(allow_blank=True)
    tool = serializers.CharField(allow_blank=True, default="", help_text="Empty or none: no tool.")


class BenchImportSerializer(Body):
    """Cases to keep."""

    cases = serializers.ListField(
        child=BenchCaseWriteSerializer(), allow_empty=False, max_length=MOST_CASES
    )


class BenchStartSerializer(Body):
    """Starts a run."""

    model = serializers.CharField(
        required=False, allow_blank=True, default="", help_text="As LiteLLM has it; the agent's."
    )


class BenchSummarySerializer(serializers.Serializer[Summary]):
    """What a run came to; rates from 0 to 1, `cost` in US dollars where the price is known."""

    total = serializers.IntegerField()
    done = serializers.IntegerField()
    passed = serializers.IntegerField()
    passRate = serializers.FloatField(source="pass_rate", allow_null=True)
    offeredRate = serializers.FloatField(source="offered_rate", allow_null=True)
    failed = serializers.IntegerField()
    tokens = serializers.IntegerField()
    cost = serializers.FloatField(allow_null=True)


class BenchRunSerializer(serializers.ModelSerializer[BenchRun]):
    """A run as lists tell it."""

    summary = BenchSummarySerializer(read_only=True)
    createdAt = serializers.DateTimeField(source="created_at", read_only=True)
    finishedAt = serializers.DateTimeField(source="finished_at", read_only=True, allow_null=True)

    class Meta:
        model = BenchRun
        fields = ("id", "model", "state", "summary", "error", "createdAt", "finishedAt")


class BenchResultSerializer(serializers.ModelSerializer[BenchResult]):
    """What came of one case; `finishedAt` is null while it was not tried."""

    inputTokens = serializers.IntegerField(source="input_tokens", read_only=True)
    outputTokens = serializers.IntegerField(source="output_tokens", read_only=True)
    durationMs = serializers.IntegerField(source="duration_ms", read_only=True, allow_null=True)
    finishedAt = serializers.DateTimeField(source="finished_at", read_only=True, allow_null=True)

    class Meta:
        model = BenchResult
        fields = (
            *("prompt", "expected", "called", "arguments", "problem", "offered", "searches"),
            *("answer", "passed", "error", "inputTokens", "outputTokens", "cost", "durationMs"),
            "finishedAt",
        )


class BenchRunDetailSerializer(BenchRunSerializer):
    """A run with its cases, in order."""

    results = BenchResultSerializer(many=True, read_only=True)

    class Meta(BenchRunSerializer.Meta):
        fields = (*BenchRunSerializer.Meta.fields, "results")  # type: ignore[assignment]


def told(run: BenchRun, summary: Summary) -> JsonObject:
    """Return a run as the wire has it, with what it came to."""
    data = dict(BenchRunSerializer(run).data)
    return {**data, "summary": dict(BenchSummarySerializer(summary).data)}
