"""Shapes of sequences that are described in words."""

from rest_framework import serializers

from chat.describing import LONGEST
from config.lib.api_bodies import Body


class DescribeSerializer(Body):
    """What a sequence shall do, in words, and which model is to draft it."""

    words = serializers.CharField(max_length=LONGEST)
    model = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        help_text="One of those that a GET lists; empty: the first.",
    )


class OfferedModelSerializer(serializers.Serializer[None]):
    """A model that may be asked; one for trying out follows fixed rules and needs no key."""

    name = serializers.CharField()
    demo = serializers.BooleanField()


class DescribedSerializer(serializers.Serializer[None]):
    """The draft that came of it, what the model said of it, and what is left to be done.

    `drafts` are those of the sequences that came with it.
    """

    draft = serializers.UUIDField()
    drafts = serializers.ListField(child=serializers.UUIDField())
    page = serializers.CharField(help_text="Where a person looks through it.")
    madeOfIt = serializers.CharField(allow_blank=True)
    leftOpen = serializers.ListField(child=serializers.CharField())
    notes = serializers.ListField(child=serializers.CharField())
    tries = serializers.IntegerField()
