"""The shapes of sequences that are taken out and brought in."""

from rest_framework import serializers

from config.lib.api_bodies import Body


class SequenceDocumentSerializer(Body):
    """A sequence as a file; its steps name their tools by `tools[].id`."""

    outfitter = serializers.ChoiceField(choices=["sequence"])
    format = serializers.IntegerField()
    name = serializers.CharField()
    description = serializers.CharField(required=False)
    inputSchema = serializers.DictField(required=False)
    definition = serializers.DictField()
    tools = serializers.ListField(child=serializers.DictField(), required=False)
    requiredScopes = serializers.ListField(child=serializers.CharField(), required=False)
    samples = serializers.ListField(child=serializers.DictField(), required=False)
    leftOut = serializers.ListField(child=serializers.CharField(), required=False)


class SequenceImportedSerializer(serializers.Serializer[object]):
    """What came of it, or would: each tool with what it is here, and what is to be mended.

    A preview has neither `draft` nor `page`.
    """

    draft = serializers.UUIDField(required=False)
    page = serializers.CharField(required=False)
    name = serializers.CharField()
    tools = serializers.ListField(child=serializers.DictField())
    problems = serializers.ListField(child=serializers.DictField())
    notes = serializers.ListField(child=serializers.CharField())
