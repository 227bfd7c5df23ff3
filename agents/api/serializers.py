"""Shapes of agents on the wire."""

from rest_framework import serializers

from agents.models import Agent, AgentTool, ApprovalRule
from agents.models.agent import (
    AgentVisibility,
    ApprovalDefault,
    DiscoveryMode,
    McpTools,
    ToolProtocol,
)
from agents.models.agent_tool import Approval
from agents.models.approval_rule import RuleEffect
from config.lib.api_bodies import Body
from registry.api.usage import CallSumsSerializer, UsageToldSerializer
from registry.models import Tool


class AgentSerializer(serializers.ModelSerializer[Agent]):
    """An agent as it is told."""

    owner = serializers.CharField(source="owner.username", read_only=True)
    team = serializers.CharField(source="team.name", read_only=True, allow_null=True)
    discoveryMode = serializers.CharField(source="discovery_mode", read_only=True)
    maxFoundTools = serializers.IntegerField(source="max_found_tools", read_only=True)
    schemaBudget = serializers.IntegerField(source="schema_budget", read_only=True)
    maxSteps = serializers.IntegerField(source="max_steps", read_only=True)
    approvalDefault = serializers.CharField(source="approval_default", read_only=True)
    fallbackModels = serializers.ListField(
        child=serializers.CharField(), source="fallback_models", read_only=True
    )
    toolProtocol = serializers.CharField(source="tool_protocol", read_only=True)
    mcpTools = serializers.CharField(source="mcp_tools", read_only=True)
    codeExecution = serializers.BooleanField(source="code_execution", read_only=True)
    createdAt = serializers.DateTimeField(source="created_at", read_only=True)
    updatedAt = serializers.DateTimeField(source="updated_at", read_only=True)

    class Meta:
        model = Agent
        fields = (
            "id",
            "slug",
            "name",
            "description",
            "instructions",
            "model",
            "discoveryMode",
            "maxFoundTools",
            "schemaBudget",
            "maxSteps",
            "approvalDefault",
            "fallbackModels",
            "toolProtocol",
            "mcpTools",
            "codeExecution",
            "scopes",
            "visibility",
            "team",
            "owner",
            "createdAt",
            "updatedAt",
        )


class AgentWriteSerializer(Body):
    """What may be set on an agent."""

    name = serializers.CharField(max_length=80)
    description = serializers.CharField(max_length=300, required=False, allow_blank=True)
    instructions = serializers.CharField(max_length=20_000, required=False, allow_blank=True)
    model = serializers.CharField(max_length=120, required=False, allow_blank=True)
    discoveryMode = serializers.ChoiceField(
        choices=DiscoveryMode.choices, source="discovery_mode", required=False
    )
    maxFoundTools = serializers.IntegerField(
        min_value=0, max_value=20, source="max_found_tools", required=False
    )
    schemaBudget = serializers.IntegerField(
        min_value=500, max_value=200_000, source="schema_budget", required=False
    )
    maxSteps = serializers.IntegerField(
        min_value=1, max_value=50, source="max_steps", required=False
    )
    approvalDefault = serializers.ChoiceField(
        choices=ApprovalDefault.choices, source="approval_default", required=False
    )
    fallbackModels = serializers.ListField(
        child=serializers.CharField(max_length=120, allow_blank=True),
        source="fallback_models",
        required=False,
    )
    toolProtocol = serializers.ChoiceField(
        choices=ToolProtocol.choices, source="tool_protocol", required=False
    )
    mcpTools = serializers.ChoiceField(
        choices=McpTools.choices,
        source="mcp_tools",
        required=False,
        help_text="Whether MCP clients are told of all tools, or of four that find and call them.",
    )
    codeExecution = serializers.BooleanField(source="code_execution", required=False)
    scopes = serializers.ListField(child=serializers.CharField(max_length=100), required=False)
    visibility = serializers.ChoiceField(choices=AgentVisibility.choices, required=False)
    team = serializers.CharField(required=False, allow_null=True)


class LinkSerializer(serializers.ModelSerializer[AgentTool]):
    """A linked tool as it is told."""

    toolId = serializers.UUIDField(source="tool_id", read_only=True)
    name = serializers.SerializerMethodField()
    tool = serializers.CharField(source="tool.wire_name", read_only=True)
    description = serializers.CharField(source="description_override", read_only=True)
    title = serializers.CharField(source="tool.title", read_only=True)
    kind = serializers.CharField(source="tool.kind", read_only=True)
    version = serializers.IntegerField(source="pinned_version", read_only=True, allow_null=True)
    liveVersion = serializers.IntegerField(source="tool.version", read_only=True)

    class Meta:
        model = AgentTool
        fields = (
            *("toolId", "name", "tool", "title", "kind", "config", "version", "liveVersion"),
            *("approval", "description"),
        )

    def get_name(self, link: AgentTool) -> str:
        """Return what the agent's model calls the tool."""
        return link.name_override or link.tool.wire_name


class LinksSerializer(serializers.Serializer[object]):
    """The linked tools of an agent, by name."""

    results = LinkSerializer(many=True)


class OfferSerializer(serializers.ModelSerializer[Tool]):
    """The tool by which an agent is asked."""

    tool = serializers.UUIDField(source="id", read_only=True)
    name = serializers.CharField(source="wire_name", read_only=True)

    class Meta:
        model = Tool
        fields = ("tool", "name")


class LinkWriteSerializer(Body):
    """A request to link a tool, or to change what is named of its link."""

    toolId = serializers.UUIDField(source="tool_id")
    config = serializers.DictField(required=False)
    version = serializers.IntegerField(
        min_value=1, required=False, allow_null=True, source="pinned_version"
    )
    approval = serializers.ChoiceField(choices=Approval.choices, required=False)
    name = serializers.CharField(
        required=False, allow_blank=True, help_text="Empty: the tool's own name."
    )
    description = serializers.CharField(
        required=False, allow_blank=True, help_text="Empty: the tool's own description."
    )


class ApprovalRuleSerializer(serializers.ModelSerializer[ApprovalRule]):
    """A rule as it is told; `catches` names the linked tools that it catches now."""

    catches = serializers.ListField(child=serializers.CharField(), read_only=True)
    createdAt = serializers.DateTimeField(source="created_at", read_only=True)

    class Meta:
        model = ApprovalRule
        fields = ("id", "pattern", "effect", "catches", "createdAt")


class ApprovalRulesSerializer(serializers.Serializer[object]):
    """All that decides beside the links: `default` holds where no rule and no link fits."""

    default = serializers.ChoiceField(choices=ApprovalDefault.choices)
    results = ApprovalRuleSerializer(many=True)


class ApprovalRuleWriteSerializer(Body):
    """A rule to make, or to change the effect of."""

    pattern = serializers.CharField(allow_blank=True, trim_whitespace=True)
    effect = serializers.ChoiceField(choices=RuleEffect.choices)


class ApprovalRuleNamedSerializer(Body):
    """A rule to remove."""

    id = serializers.UUIDField()


class UnlinkSerializer(Body):
    """A request to unlink a tool."""

    toolId = serializers.UUIDField()


class ModelUsageSerializer(serializers.Serializer[object]):
    """Turns, tokens and cost; `cost_usd` is null where no price is known."""

    turns = serializers.IntegerField()
    completed = serializers.IntegerField()
    failed = serializers.IntegerField()
    stopped = serializers.IntegerField()
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    cached_tokens = serializers.IntegerField()
    unpriced = serializers.IntegerField()
    cost_usd = serializers.FloatField(allow_null=True)


class ModelUsageBucketSerializer(ModelUsageSerializer):
    """The same of one hour or day."""

    start = serializers.DateTimeField()


class ToolShareSerializer(CallSumsSerializer):
    """What an agent called of one tool."""

    toolId = serializers.UUIDField()
    name = serializers.CharField()


class UsageSerializer(UsageToldSerializer):
    """What an agent used."""

    agent = serializers.CharField()
    total_tools_available = serializers.IntegerField()
    total_tool_calls = serializers.IntegerField()
    usage_by_tool = serializers.DictField(child=serializers.IntegerField())
    most_used_tool = serializers.CharField(allow_null=True)
    models = ModelUsageSerializer()
    tools = ToolShareSerializer(many=True)
    turns = ModelUsageBucketSerializer(many=True)
    never_called = serializers.ListField(child=serializers.CharField())
