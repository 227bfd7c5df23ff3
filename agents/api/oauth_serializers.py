"""Shapes of programs and grants on the wire."""

from rest_framework import serializers

from agents.models import OAuthClient
from agents.oauth import clients, grants
from config.lib.api_bodies import Body


class ClientSerializer(serializers.ModelSerializer[OAuthClient]):
    """An agent's program, without its secret."""

    id = serializers.IntegerField(source="pk", read_only=True)
    clientId = serializers.CharField(source="client_id", read_only=True)
    agent = serializers.CharField(source="agent.slug", read_only=True)
    createdAt = serializers.DateTimeField(source="created", read_only=True)
    lastUsedAt = serializers.DateTimeField(source="last_used_at", read_only=True, allow_null=True)

    class Meta:
        model = OAuthClient
        fields = ("id", "clientId", "name", "agent", "createdAt", "lastUsedAt")


class ClientSecretSerializer(ClientSerializer):
    """The same with a new secret, which is told this once."""

    clientSecret = serializers.CharField(read_only=True)

    class Meta(ClientSerializer.Meta):
        fields = (*ClientSerializer.Meta.fields, "clientSecret")  # type: ignore[assignment]


class ClientListSerializer(serializers.Serializer[dict[str, object]]):
    """An agent has few."""

    results = ClientSerializer(many=True, read_only=True)


class ClientWriteSerializer(Body):
    """A new program."""

    agent = serializers.CharField(max_length=60, help_text="The slug of an agent of yours.")
    name = serializers.CharField(max_length=clients.LONGEST_NAME)


class GrantSerializer(serializers.Serializer[grants.Grant]):
    """A program that you have let in."""

    client = serializers.IntegerField(source="client.pk", read_only=True)
    clientId = serializers.CharField(source="client.client_id", read_only=True)
    name = serializers.CharField(source="client.name", read_only=True)
    scopes = serializers.ListField(child=serializers.CharField(), read_only=True)
    resources = serializers.ListField(child=serializers.CharField(), read_only=True)
    since = serializers.DateTimeField(read_only=True)
    lastUsedAt = serializers.DateTimeField(source="last_used_at", read_only=True)


class GrantListSerializer(serializers.Serializer[dict[str, object]]):
    """A person has few."""

    results = GrantSerializer(many=True, read_only=True)
