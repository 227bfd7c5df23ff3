"""The shapes of `/api/v1/discovery/…`."""

from typing import Any

from rest_framework import serializers

from agents.discovery.listing import MOST_TOLD
from agents.discovery.registering import Registered
from config.lib.api_bodies import Body
from config.lib.errors import InvalidInput
from config.lib.types import JsonObject
from registry.api_definition import METHODS
from registry.models.health import HealthState
from registry.models.tool import ToolKind, Visibility

FORMATS = ("json", "text")


class DiscoveryQuerySerializer(serializers.Serializer[Any]):
    """What is asked for; all of it may be left out."""

    agent = serializers.CharField(
        max_length=60, default="", allow_blank=True, help_text="The toolset of this agent (slug)."
    )
    arm = serializers.ChoiceField(
        choices=["A", "B"],
        required=False,
        help_text="The toolset of this arm of the agent's running experiment.",
    )
    since = serializers.CharField(
        max_length=64,
        default="",
        allow_blank=True,
        help_text="The `version` of an earlier answer: if nothing has changed since, the answer "
        "says `changed: false` and repeats no tool.",
    )
    limit = serializers.IntegerField(
        min_value=1, max_value=MOST_TOLD, default=MOST_TOLD, help_text="Tools of one answer."
    )
    cursor = serializers.CharField(
        max_length=200, default="", allow_blank=True, help_text="The `next` of an answer."
    )
    format = serializers.ChoiceField(
        choices=FORMATS, required=False, help_text="text: as a model reads it in a prompt."
    )

    def validate(self, asked: JsonObject) -> JsonObject:
        """Refuse an arm of no agent."""
        if asked.get("arm") and not asked["agent"]:
            told = "An arm is one of an agent's experiment."
            problems = [{"path": "$.arm", "message": told}]
            raise InvalidInput(told, "Name the agent, too.", problems=problems)
        return asked


class StatsQuerySerializer(serializers.Serializer[Any]):
    """Whose tools are counted."""

    agent = serializers.CharField(max_length=60, default="", allow_blank=True)


class UseQuerySerializer(serializers.Serializer[Any]):
    """As whom a tool is called, and how long the end of a sequence is waited for."""

    agent = serializers.CharField(max_length=60, default="", allow_blank=True)
    wait = serializers.FloatField(min_value=0, max_value=30, default=30, help_text="Seconds.")


class DiscoveredToolSerializer(serializers.Serializer[Any]):
    """One tool. `scopes` are all that a call takes, those of a sequence's steps included."""

    name = serializers.CharField()
    endpoint = serializers.CharField(help_text="POST the plain arguments here.")
    scopes = serializers.ListField(child=serializers.CharField())
    description = serializers.CharField()
    returns = serializers.CharField(help_text="What it returns, in words; may be empty.")
    id = serializers.UUIDField()
    title = serializers.CharField()
    version = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=ToolKind.choices)
    health = serializers.ChoiceField(choices=HealthState.choices)
    parameters = serializers.DictField(help_text="{name: {type, description, …}}")
    inputSchema = serializers.DictField(help_text="The same as one JSON Schema.")
    outputSchema = serializers.DictField(allow_null=True)


class DiscoverySerializer(serializers.Serializer[Any]):
    """What there is. `version` changes when anything in the answer does; it is the ETag, too."""

    service = serializers.CharField()
    protocol = serializers.CharField()
    version = serializers.CharField()
    changed = serializers.BooleanField(help_text="False: nothing is new since `since`.")
    next = serializers.CharField(allow_null=True, help_text="The cursor of what is left.")
    tools = DiscoveredToolSerializer(many=True)


class DiscoveryStatsSerializer(serializers.Serializer[Any]):
    """The tools that the same token discovers, counted."""

    total_tools = serializers.IntegerField()
    tools_by_name = serializers.ListField(child=serializers.CharField())
    scope_usage = serializers.DictField(
        child=serializers.IntegerField(), help_text="Scope → how many tools take it."
    )
    unique_scopes = serializers.IntegerField()


class RegisterSerializer(Body):
    """A service that answers HTTP, as a tool. Name its `url`, or `host`, `port` and `endpoint`."""

    name = serializers.CharField(max_length=64)
    description = serializers.CharField(max_length=4_000)
    endpoint = serializers.CharField(max_length=1_000, default="", allow_blank=True)
    host = serializers.CharField(max_length=253, default="localhost")
    port = serializers.IntegerField(min_value=1, max_value=65_535, default=8002)
    url = serializers.CharField(max_length=2_000, default="", allow_blank=True)
    method = serializers.ChoiceField(choices=METHODS, default="POST")
    parameters = serializers.DictField(
        default=dict, help_text="{name: {type, description}}, or one JSON Schema of an object."
    )
    returns = serializers.CharField(max_length=1_000, default="", allow_blank=True)
    scopes = serializers.ListField(child=serializers.CharField(max_length=100), default=list)
    visibility = serializers.ChoiceField(choices=Visibility.choices, default=Visibility.PUBLIC)
    team = serializers.CharField(max_length=150, default=None, allow_null=True)
    forward_token = serializers.BooleanField(
        default=False, help_text="Send the service the caller's own OAuth token."
    )

    def validate(self, body: JsonObject) -> JsonObject:
        """Refuse a registration without any address."""
        if not body["url"] and not body["endpoint"]:
            told = "It is not told where the tool answers."
            hint = "Name the endpoint on the host, such as /tools/weather, or a url."
            problems = [{"path": "$.endpoint", "message": told}]
            raise InvalidInput(told, hint, problems=problems)
        return body


class RegisteredImpactSerializer(serializers.Serializer[Any]):
    """What it does to agents and sequences that use the tool."""

    breaks = serializers.BooleanField()
    summary = serializers.CharField()


class RegisteredSerializer(serializers.Serializer[Registered]):
    """A registered tool as its registrar has it now."""

    id = serializers.UUIDField(source="tool.pk")
    name = serializers.CharField(source="tool.wire_name")
    endpoint = serializers.CharField(help_text="Where it is called from now on.")
    version = serializers.IntegerField(source="tool.version")
    state = serializers.ChoiceField(
        choices=["live", "waiting", "team", "private"],
        help_text="waiting: until a governor has approved it, only you have it as it is here.",
    )
    created = serializers.BooleanField()
    changed = serializers.BooleanField(help_text="It has become another version.")
    impact = RegisteredImpactSerializer(allow_null=True)
    message = serializers.CharField(help_text="How it stands, in words.")


class UnregisteredSerializer(serializers.Serializer[Any]):
    """A tool that was taken away, and what has lost it."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    impact = RegisteredImpactSerializer()
