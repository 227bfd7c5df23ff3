"""What calling a tool does, in the REST API."""

from typing import Any

from rest_framework import serializers


class AnnotationsSerializer(serializers.Serializer[Any]):
    """What is known of a tool; of a sequence what holds of its steps together."""

    readOnly = serializers.BooleanField(source="read_only")
    destructive = serializers.BooleanField()
    idempotent = serializers.BooleanField()
    openWorld = serializers.BooleanField(source="open_world")
