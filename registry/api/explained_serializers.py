"""The shapes of what explains a score."""

from typing import Any

from rest_framework import serializers


class TermSerializer(serializers.Serializer[Any]):
    """What a word gained, and in which texts of the tool."""

    term = serializers.CharField()
    word = serializers.CharField(help_text="As the message says it.")
    corrected = serializers.BooleanField(help_text="No tool holds the word; it is read as another.")
    idf = serializers.FloatField(help_text="How much it tells: the rarer, the more.")
    lead = serializers.FloatField(help_text="What its idf is multiplied by: rarity and quotes.")
    gain = serializers.FloatField()
    fields = serializers.DictField(child=serializers.FloatField())  # type: ignore[assignment]


class FactorsSerializer(serializers.Serializer[Any]):
    """What multiplies the score of a tool among equals."""

    quality = serializers.FloatField()
    health = serializers.FloatField()
    popularity = serializers.FloatField()


class RelevanceReasonSerializer(serializers.Serializer[Any]):
    """What speaks for the relevance of the best tool, or against it."""

    name = serializers.CharField()
    value = serializers.FloatField()
    gain = serializers.FloatField(help_text="In log-odds; all gains sum to those of the relevance.")


class RelevanceSerializer(serializers.Serializer[Any]):
    """How relevant the best tool is, and why."""

    value = serializers.FloatField()
    speaks = serializers.ChoiceField(
        choices=["message", "query", "earlier", "nothing"],
        help_text="What it is told by.",
    )
    times = serializers.FloatField(help_text="What earlier messages count, 1 for others.")
    reasons = RelevanceReasonSerializer(many=True)


class PartsSerializer(serializers.Serializer[Any]):
    """How a score came about.

    The gains of the terms and the parts from `coverage` to `shift` sum up; times the factors that
    is `ranking`. The score is the value of `relevance` times `share`.
    """

    terms = TermSerializer(many=True)
    coverage = serializers.FloatField()
    clause = serializers.FloatField()
    passage = serializers.FloatField()
    limitations = serializers.FloatField()
    history = serializers.FloatField()
    dense = serializers.FloatField()
    turn = serializers.FloatField(help_text="Lost by a late place for a sub-query.")
    shift = serializers.FloatField(help_text="The same for all tools.")
    factors = FactorsSerializer()
    ranking = serializers.FloatField(help_text="The score that orders the tools.")
    relevance = RelevanceSerializer()
    share = serializers.FloatField(help_text="Root of its share of the best ranking score.")
    reliance = serializers.FloatField(help_text="How much the message leans on earlier ones.")
    floor = serializers.FloatField(help_text="The score that a result needs.")
