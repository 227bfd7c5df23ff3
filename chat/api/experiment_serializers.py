"""Shapes of experiments on the wire."""

from typing import Any

from rest_framework import serializers

from agents.experiments import FEWEST_PLANNED, LARGEST_SHARE, MOST_PLANNED, SMALLEST_SHARE
from agents.models import Arm, ArmTool, Experiment
from agents.models.agent import DiscoveryMode
from chat.comparison import Verdict
from config.lib.api_bodies import Body


class ArmToolSerializer(serializers.ModelSerializer[ArmTool]):
    """A tool of a toolset; `version` of null means the current one."""

    toolId = serializers.UUIDField(source="tool_id", read_only=True)
    version = serializers.IntegerField(source="pinned_version", read_only=True, allow_null=True)

    class Meta:
        model = ArmTool
        fields = ("toolId", "version")


class ArmSerializer(serializers.ModelSerializer[Arm]):
    """One of the two toolsets."""

    discoveryMode = serializers.CharField(source="discovery_mode", read_only=True)
    tools = ArmToolSerializer(source="links", many=True, read_only=True)

    class Meta:
        model = Arm
        fields = ("letter", "discoveryMode", "tools")


class ExperimentSerializer(serializers.ModelSerializer[Experiment]):
    """An experiment as it is told."""

    shareB = serializers.IntegerField(source="share_b", read_only=True)
    arms = ArmSerializer(many=True, read_only=True)
    createdAt = serializers.DateTimeField(source="created_at", read_only=True)
    startedAt = serializers.DateTimeField(source="started_at", read_only=True, allow_null=True)
    endedAt = serializers.DateTimeField(source="ended_at", read_only=True, allow_null=True)
    state = serializers.CharField(read_only=True)

    class Meta:
        model = Experiment
        fields = (
            *("id", "name", "state", "shareB", "planned", "arms"),
            *("createdAt", "startedAt", "endedAt"),
        )


class ArmToolWriteSerializer(Body):
    """A tool that a toolset is to carry."""

    toolId = serializers.UUIDField()
    version = serializers.IntegerField(min_value=1, required=False, allow_null=True)


class ToolsetWriteSerializer(Body):
    """A toolset; without `discoveryMode` it finds tools as the agent does."""

    tools = ArmToolWriteSerializer(many=True)
    discoveryMode = serializers.ChoiceField(choices=DiscoveryMode.choices, required=False)


class ExperimentWriteSerializer(Body):
    """A request to draw up an experiment."""

    name = serializers.CharField(max_length=120)
    a = ToolsetWriteSerializer(required=False)
    b = ToolsetWriteSerializer()
    shareB = serializers.IntegerField(
        source="share_b", min_value=SMALLEST_SHARE, max_value=LARGEST_SHARE, required=False
    )
    planned = serializers.IntegerField(
        min_value=FEWEST_PLANNED, max_value=MOST_PLANNED, required=False
    )


class SummarySerializer(serializers.Serializer[Any]):
    """A share or a median with its 95 % interval."""

    conversations = serializers.IntegerField(source="n")
    value = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)


class ComparedSerializer(serializers.Serializer[Any]):
    """One measure in both arms; `difference` is B less A."""

    measure = serializers.CharField(source="measure.key")
    unit = serializers.CharField(source="measure.unit.value")
    a = SummarySerializer()
    b = SummarySerializer()
    difference = serializers.FloatField(allow_null=True)
    p = serializers.FloatField(allow_null=True)
    pAdjusted = serializers.FloatField(source="p_adjusted", allow_null=True)
    verdict = serializers.CharField(
        source="verdict.value", help_text=f"One of {', '.join(Verdict)}."
    )


class ExperimentResultsSerializer(serializers.Serializer[Any]):
    """What an experiment has shown; preliminary until `enough`."""

    enough = serializers.BooleanField()
    conversations = serializers.DictField(child=serializers.IntegerField(), source="counts")
    results = ComparedSerializer(many=True, source="compared")
