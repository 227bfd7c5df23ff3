"""Shapes of labelled queries and of measurements on the wire."""

from rest_framework import serializers

from agents.models import SearchCase, SearchEvaluation
from agents.models.search_case import LONGEST_QUERY, MOST_RECENT
from agents.search_cases import MOST_EXPECTED
from config.lib.api_bodies import Body


class ExpectedToolSerializer(serializers.Serializer[object]):
    """A tool that a query should find."""

    id = serializers.UUIDField()
    name = serializers.CharField(source="wire_name")


class SearchCaseSerializer(serializers.ModelSerializer[SearchCase]):
    """A labelled query as it is told; nothing `expected`: nothing should be found."""

    expected = ExpectedToolSerializer(many=True, read_only=True)
    history = serializers.ListField(child=serializers.CharField(), source="recent", read_only=True)
    turn = serializers.UUIDField(source="turn_id", read_only=True, allow_null=True)
    createdAt = serializers.DateTimeField(source="created_at", read_only=True)

    class Meta:
        model = SearchCase
        fields = ("id", "query", "history", "expected", "turn", "createdAt")


class SearchCaseWriteSerializer(Body):
    """A labelled query to keep; `expected` are ids of tools, none: nothing should be found."""

    query = serializers.CharField(max_length=LONGEST_QUERY)
    history = serializers.ListField(
        child=serializers.CharField(max_length=LONGEST_QUERY, allow_blank=True),
        source="recent",
        required=False,
        max_length=MOST_RECENT,
    )
    expected = serializers.ListField(child=serializers.UUIDField(), max_length=MOST_EXPECTED)


class SearchEvaluationSerializer(serializers.ModelSerializer[SearchEvaluation]):
    """One measurement: the means over the cases, and what came of each by its id."""

    weightsVersion = serializers.IntegerField(
        source="weights_version", read_only=True, allow_null=True
    )
    metrics = serializers.DictField(read_only=True)
    ranks = serializers.DictField(read_only=True)
    error = serializers.DictField(read_only=True, allow_null=True)
    createdAt = serializers.DateTimeField(source="created_at", read_only=True)
    finishedAt = serializers.DateTimeField(source="finished_at", read_only=True, allow_null=True)

    class Meta:
        model = SearchEvaluation
        fields = (
            *("id", "state", "total", "done", "weightsVersion", "metrics", "ranks", "error"),
            *("createdAt", "finishedAt"),
        )
