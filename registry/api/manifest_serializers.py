"""The shapes of `/api/v1/packages/validate/`."""

from typing import Any

from rest_framework import serializers

from config.lib.types import JsonObject
from registry.models.package import Tier


class ProblemSerializer(serializers.Serializer[Any]):
    """One thing that is wrong, and where."""

    path = serializers.CharField()
    message = serializers.CharField()


MANIFEST: JsonObject = {
    "description": "A package.json; or what stands under its `tpmjs`, in place of all this.",
    "examples": [{"name": "weather-tools", "tpmjs": {"category": "data", "tools": []}}],
}


class JudgedToolSerializer(serializers.Serializer[Any]):
    """A tool that would come of a manifest; `healthCheck` has the arguments it is called with."""

    name = serializers.CharField()
    exportName = serializers.CharField()
    description = serializers.CharField()
    category = serializers.CharField()
    inputSchema = serializers.DictField(allow_null=True)
    outputSchema = serializers.DictField(allow_null=True)
    aiAgent = serializers.DictField()
    healthCheck = serializers.DictField(allow_null=True)


class JudgedProblemSerializer(ProblemSerializer):
    """What is wrong with a manifest, and at which line of what was sent."""

    severity = serializers.ChoiceField(choices=["error", "warning", "advice"])
    line = serializers.IntegerField()


class JudgementSerializer(serializers.Serializer[Any]):
    """What a manifest comes to; it is valid when no problem is an error."""

    valid = serializers.BooleanField()
    tier = serializers.ChoiceField(choices=Tier.choices, allow_null=True)
    tierBecause = serializers.ListField(child=serializers.CharField())
    generation = serializers.ChoiceField(choices=["current", "earlier", "legacy"], allow_null=True)
    package = serializers.CharField(allow_null=True)
    category = serializers.CharField()
    frameworks = serializers.ListField(child=serializers.CharField())
    env = serializers.ListField(child=serializers.DictField())
    hosts = serializers.ListField(child=serializers.CharField())
    tools = JudgedToolSerializer(many=True)
    problems = JudgedProblemSerializer(many=True)
    advice = JudgedProblemSerializer(many=True)
