"""Shapes of tests of drafts in the REST API."""

from rest_framework import serializers

from config.lib.api_bodies import Body
from sequences.models import SampleInput
from sequences.sample_inputs import LONGEST_NAME
from sequences.test_board import STATES, TestedItem, TestedStep

_KEY = "The key of a step."


class TestStartSerializer(Body):
    """What of a draft is tested. Without an input the last test's is taken, else a sample."""

    first = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        help_text=f"{_KEY} What stands before it is taken from earlier tests; empty: nothing does.",
    )
    last = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        help_text=f"{_KEY} What stands behind it is left out; empty: nothing does.",
    )
    item = serializers.IntegerField(
        required=False,
        min_value=0,
        help_text="Of the loop of the step `last` this item alone, counted from 0.",
    )
    input = serializers.DictField(required=False)
    sample = serializers.IntegerField(
        required=False, min_value=1, help_text="The id of a sample, in place of an input."
    )


class TestedItemSerializer(serializers.Serializer[TestedItem]):
    """One item of a loop, when it was last tested; `known` is false where it never was."""

    index = serializers.IntegerField()
    known = serializers.BooleanField()
    input = serializers.JSONField(allow_null=True)
    output = serializers.JSONField(allow_null=True)
    error = serializers.JSONField(allow_null=True)


class TestedStepSerializer(serializers.Serializer[TestedStep]):
    """What is known of a step by its last test; `state` is empty where it was never tested."""

    key = serializers.CharField()
    stepNumber = serializers.IntegerField(source="number")
    title = serializers.CharField(source="name")
    state = serializers.ChoiceField(choices=list(STATES.items()), allow_blank=True)
    message = serializers.CharField(allow_blank=True)
    input = serializers.JSONField(source="kept.input", default=None, allow_null=True)
    output = serializers.JSONField(source="kept.output", default=None, allow_null=True)
    error = serializers.JSONField(source="kept.error", default=None, allow_null=True)
    run = serializers.UUIDField(source="kept.run_id", default=None, allow_null=True)
    updatedAt = serializers.DateTimeField(source="kept.updated_at", default=None, allow_null=True)
    items = TestedItemSerializer(many=True)
    moreItems = serializers.IntegerField(source="more_items")


class OutputWriteSerializer(Body):
    """What a step gives, for the tests of the steps behind it."""

    output = serializers.JSONField(allow_null=True)


class SampleSerializer(serializers.ModelSerializer[SampleInput]):
    """A saved input to test a draft with."""

    input = serializers.DictField(read_only=True)
    createdAt = serializers.DateTimeField(source="created_at", read_only=True)

    class Meta:
        model = SampleInput
        fields = ("id", "name", "input", "createdAt")


class SampleWriteSerializer(Body):
    """An input to keep; one of the same name is replaced."""

    name = serializers.CharField(max_length=LONGEST_NAME)
    input = serializers.DictField()
