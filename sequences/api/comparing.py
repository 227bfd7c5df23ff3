"""`/api/v1/runs/{id}/compare/{other}/`."""

from dataclasses import asdict
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib.http import SignedInApiRequest
from config.lib.types import JsonObject
from sequences import selectors
from sequences.comparing import Comparison, Pair, ValueDifference, compared


class ValueDifferenceSerializer(serializers.Serializer[ValueDifference]):
    """One place where two values differ; null stands where it is missing, too: see `kind`."""

    path = serializers.CharField(help_text="JSONPath, such as $.items[2].name.")
    kind = serializers.ChoiceField(choices=["added", "removed", "changed"])
    before = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)


class PairSerializer(serializers.Serializer[Pair]):
    """A step in both runs, or in one of them: the status in the other is null then."""

    number = serializers.IntegerField()
    statuses = serializers.ListField(
        child=serializers.CharField(allow_null=True), min_length=2, max_length=2
    )
    same = serializers.BooleanField()
    input = ValueDifferenceSerializer(many=True)
    output = ValueDifferenceSerializer(many=True)


class ComparisonSerializer(serializers.Serializer[Comparison]):
    """Two runs of one sequence, step by step."""

    same = serializers.BooleanField()
    input = ValueDifferenceSerializer(many=True)
    output = ValueDifferenceSerializer(many=True)
    steps = PairSerializer(many=True)


class RunCompareView(APIView):
    """Two runs side by side."""

    required_scopes = {"GET": "tools:read"}

    @extend_schema(responses=ComparisonSerializer)
    def get(self, request: SignedInApiRequest, run_id: UUID, other_id: UUID) -> Response:
        """Tell how two of your runs of one sequence differ, step by step."""
        found = compared(
            selectors.run_of(request.user, run_id), selectors.run_of(request.user, other_id)
        )
        return Response(_told(found))


def _told(found: Comparison) -> JsonObject:
    return {
        "same": found.is_same,
        "input": _differences(found.input),
        "output": _differences(found.output),
        "steps": [
            {
                "number": pair.number,
                "statuses": [step.status if step else None for step in (pair.a, pair.b)],
                "same": pair.is_same,
                "input": _differences(pair.input),
                "output": _differences(pair.output),
            }
            for pair in found.pairs
        ],
    }


def _differences(found: tuple[ValueDifference, ...]) -> list[JsonObject]:
    return [asdict(each) for each in found]
