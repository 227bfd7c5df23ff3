"""The shapes of a call: what is sent, what comes back, what is recorded."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from config.lib.api_bodies import Body, VariablesField
from registry.audit.calls import for_reader
from registry.mcp.settings import VARIABLE
from registry.models import (
    Invocation,
)
from registry.selectors import invocations_inside


class ToolRunQuerySerializer(serializers.Serializer[Any]):
    """How long the end of a sequence is waited for."""

    wait = serializers.FloatField(min_value=0, max_value=30, default=0, help_text="Seconds.")


class ToolRunSerializer(Body):
    """A request to call a tool. A variable in `env` is used for this call and not kept."""

    arguments = serializers.DictField(default=dict)
    env = VariablesField(names=VARIABLE, default=dict)
    agent = serializers.CharField(
        max_length=60, required=False, allow_blank=True, default="", help_text="Call as this agent."
    )
    version = serializers.IntegerField(min_value=1, required=False, allow_null=True, default=None)


class InvocationSerializer(serializers.ModelSerializer[Invocation]):
    """One call of a tool, as it was recorded."""

    toolId = serializers.UUIDField(source="tool_id", read_only=True)
    tool = serializers.CharField(source="tool.wire_name", read_only=True)
    toolVersion = serializers.IntegerField(source="tool_version", read_only=True)
    parentId = serializers.UUIDField(source="parent_id", read_only=True, allow_null=True)
    agentId = serializers.UUIDField(source="agent_id", read_only=True, allow_null=True)
    user = serializers.CharField(source="user.username", default=None, read_only=True)
    status = serializers.CharField(source="outcome", read_only=True)
    errorCode = serializers.CharField(source="error_code", read_only=True)
    createdAt = serializers.DateTimeField(source="created_at", read_only=True)

    class Meta:
        model = Invocation
        fields: tuple[str, ...] = (
            "id",
            "toolId",
            "tool",
            "toolVersion",
            "caller",
            "agentId",
            "user",
            "parentId",
            "status",
            "decision",
            "phase",
            "errorCode",
            "arguments",
            "output",
            "error",
            "duration_ms",
            "cost",
            "createdAt",
        )


class InvocationDetailSerializer(InvocationSerializer):
    """One call and, of a program, the calls that it made."""

    children = serializers.SerializerMethodField()

    class Meta(InvocationSerializer.Meta):
        fields = (*InvocationSerializer.Meta.fields, "children")

    @extend_schema_field(InvocationSerializer(many=True))
    def get_children(self, invocation: Invocation) -> Any:
        """Return the inner calls, in the order in which they ended."""
        inside = invocations_inside(invocation)
        if reader := self.context.get("reader"):
            inside = [for_reader(reader, call) for call in inside]
        return InvocationSerializer(inside, many=True).data


class LaunchedSerializer(serializers.Serializer[Any]):
    """A run that was started; `url` is its place in this API, `page` the one for people."""

    run = serializers.UUIDField()
    status = serializers.CharField()
    url = serializers.CharField()
    page = serializers.CharField()
    output = serializers.JSONField(required=False, help_text="Of a run that is over.")
    error = serializers.JSONField(required=False, help_text="Of a run that is over.")


class SavedFileSerializer(serializers.Serializer[Any]):
    """A file that the tool saved beside its answer; it is kept nowhere else."""

    name = serializers.CharField()
    media_type = serializers.CharField()
    size = serializers.IntegerField(help_text="Bytes of the file.")
    content = serializers.CharField(help_text="The file itself, in base64.")


class ToolRanSerializer(serializers.Serializer[Any]):
    """How a call ended that succeeded.

    Pictures and sounds of an MCP server stand in `output.content` as MCP has them:
    `{type: "image" | "audio", mimeType, data}`, `data` in base64.
    """

    status = serializers.CharField()
    output = serializers.JSONField()
    duration_ms = serializers.IntegerField()
    invocation = serializers.UUIDField()
    artifacts = SavedFileSerializer(many=True)
