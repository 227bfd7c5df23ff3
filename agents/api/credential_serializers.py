"""Shapes of credentials on the wire."""

from rest_framework import serializers

from agents.models import Credential
from config.lib.api_bodies import Body


class CredentialSerializer(serializers.ModelSerializer[Credential]):
    """A credential; its value is never told."""

    agent = serializers.SlugRelatedField(  # type: ignore[var-annotated]
        slug_field="slug", read_only=True, allow_null=True, help_text="Null: for all of them."
    )
    createdAt = serializers.DateTimeField(source="created_at", read_only=True)
    updatedAt = serializers.DateTimeField(source="updated_at", read_only=True)

    class Meta:
        model = Credential
        fields = ("id", "name", "agent", "createdAt", "updatedAt")
        read_only_fields = fields


class CredentialBodySerializer(Body):
    """A value to keep."""

    name = serializers.RegexField(
        r"^[A-Z_][A-Z0-9_]{0,99}$", help_text="The variable's name, such as EXA_API_KEY."
    )
    value = serializers.CharField(
        min_length=1, max_length=10_000, write_only=True, trim_whitespace=False
    )
    agent = serializers.SlugField(
        required=False, max_length=60, help_text="For this agent of yours alone."
    )
