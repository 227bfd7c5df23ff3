"""Shapes of what clients need to connect."""

from rest_framework import serializers


class SnippetSerializer(serializers.Serializer[object]):
    """A text, and the file or the shell that it goes into."""

    where = serializers.CharField()
    language = serializers.ChoiceField(choices=["json", "toml", "shell", "python"])
    text = serializers.CharField()


class ConnectedClientSerializer(serializers.Serializer[object]):
    """A client; `signedIn` are settings without a token, for those that let people sign in."""

    key = serializers.CharField()
    name = serializers.CharField()
    how = serializers.CharField()
    snippets = SnippetSerializer(many=True)
    signedIn = SnippetSerializer(many=True, source="signed_in")


class ConnectionSerializer(serializers.Serializer[object]):
    """An address of the MCP server, and what each client needs for it.

    The settings have no token: `placeholder` stands in its place.
    """

    url = serializers.CharField()
    name = serializers.CharField()
    placeholder = serializers.CharField()
    clients = ConnectedClientSerializer(many=True)
    programs = ConnectedClientSerializer(many=True)
