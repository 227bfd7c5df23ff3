"""The shapes of what the ranking of tools weighs."""

from typing import Any

from rest_framework import serializers

from config.lib.api_bodies import Body
from registry.models.stoppable import LONGEST_REASON
from registry.search.in_force import Decided

LATEST = 2**31 - 1


class DecidedSerializer(serializers.Serializer[Decided]):
    """Weights as they were decided on; version 0 is what the product brings."""

    version = serializers.IntegerField()
    values = serializers.DictField(child=serializers.FloatField(), source="weights.as_dict")
    reason = serializers.CharField()
    by = serializers.CharField(source="by.username", default=None, allow_null=True)
    at = serializers.DateTimeField(allow_null=True)
    restoredFrom = serializers.IntegerField(source="restored_from", allow_null=True)


class BoundSerializer(serializers.Serializer[Any]):
    """What a weight may be, and what it does."""

    name = serializers.CharField()
    group = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment] # the base has a label, too
    help = serializers.CharField()
    least = serializers.FloatField()
    most = serializers.FloatField()
    step = serializers.FloatField()


class WeightsSerializer(DecidedSerializer):
    """The weights in force, and what each may be."""

    bounds = BoundSerializer(many=True)


class ReasonedSerializer(Body):
    """Why weights change, and which version the change was made from."""

    reason = serializers.CharField(max_length=LONGEST_REASON)
    basedOn = serializers.IntegerField(
        source="based_on",
        min_value=0,
        max_value=LATEST,
        help_text="The version in force when the change was made; another one answers 409.",
    )


class WeightsWriteSerializer(ReasonedSerializer):
    """All weights by their names."""

    values = serializers.DictField(child=serializers.JSONField(allow_null=True))


class WeightsRestoreSerializer(ReasonedSerializer):
    """The version whose weights are to be in force again."""

    version = serializers.IntegerField(min_value=0, max_value=LATEST)
