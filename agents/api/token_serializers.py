"""Shapes of personal API tokens on the wire."""

from rest_framework import serializers

from agents.models import ApiToken
from config.lib.api_bodies import Body


class TokenSerializer(serializers.ModelSerializer[ApiToken]):
    """A token, without its text; no scopes mean all."""

    expiresAt = serializers.DateTimeField(source="expires_at", read_only=True, allow_null=True)
    lastUsedAt = serializers.DateTimeField(source="last_used_at", read_only=True, allow_null=True)
    createdAt = serializers.DateTimeField(source="created_at", read_only=True)

    class Meta:
        model = ApiToken
        fields: tuple[str, ...] = (
            *("id", "name", "prefix", "scopes", "expiresAt", "lastUsedAt", "createdAt"),
        )
        read_only_fields = fields


class NewTokenSerializer(TokenSerializer):
    """A token with its text, in the one answer that has it."""

    token = serializers.CharField(read_only=True)

    class Meta(TokenSerializer.Meta):
        fields: tuple[str, ...] = (*TokenSerializer.Meta.fields, "token")
        read_only_fields = fields


class TokenBodySerializer(Body):
    """What a token is made of."""

    name = serializers.CharField(max_length=80)
    scopes = serializers.ListField(
        child=serializers.CharField(max_length=100),
        required=False,
        default=list,
        max_length=100,
        help_text="What it is limited to; none: not limited.",
    )
    expiresAt = serializers.DateTimeField(
        source="expires_at", required=False, allow_null=True, default=None
    )
