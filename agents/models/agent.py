"""An owner's configured assistant."""

import uuid

from django.conf import settings
from django.contrib.auth.models import Group
from django.contrib.postgres.fields import ArrayField
from django.db import models

from registry.models.audit_triggers import audited


class DiscoveryMode(models.TextChoices):
    LINKED = "linked", "Only the linked tools"
    AUTO = "auto", "Linked tools, and what a search finds for each message"
    FILTER = "filter", "Only what it searches for itself, and keeps"
    AUTO_FILTER = "auto_filter", "Linked tools, what a search finds, and what it found before"


SEARCHES_FIRST = frozenset({DiscoveryMode.AUTO, DiscoveryMode.AUTO_FILTER})
"""A search goes before the first model call of a turn."""

KEEPS_FOUND = frozenset({DiscoveryMode.FILTER, DiscoveryMode.AUTO_FILTER})
"""What was found stays with the conversation."""

SHOWS_LINKED = frozenset({DiscoveryMode.LINKED, DiscoveryMode.AUTO, DiscoveryMode.AUTO_FILTER})
"""Linked tools are told to the model from the start."""


class ApprovalDefault(models.TextChoices):
    ALLOW = "allow", "Run every tool without asking"
    ASK_WRITES = "ask_writes", "Ask before a tool that does more than read"
    ASK = "ask", "Ask before every tool"


class ToolProtocol(models.TextChoices):
    AUTO = "auto", "As the model can"
    NATIVE = "native", "The provider's tool calls"
    TEXT = "text", "Tool calls written in the text"


class McpTools(models.TextChoices):
    """What MCP clients of an agent are told of."""

    ALL = "all", "All its tools"
    PROGRESSIVE = "progressive", "Four tools that find and call the others"


class AgentVisibility(models.TextChoices):
    PRIVATE = "private", "Only me"
    TEAM = "team", "My team"


class Agent(models.Model):
    """Instructions, a model, linked tools and how it may find others."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    slug = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=80)
    description = models.CharField(max_length=300, blank=True)
    instructions = models.TextField(blank=True)
    model = models.CharField(
        max_length=120, blank=True, help_text="LiteLLM model string; empty: the site's default."
    )
    discovery_mode = models.CharField(
        max_length=16, choices=DiscoveryMode, default=DiscoveryMode.AUTO_FILTER
    )
    max_found_tools = models.PositiveSmallIntegerField(
        default=5, help_text="How many found tools one message may add."
    )
    schema_budget = models.PositiveIntegerField(
        default=8_000,
        help_text="Tokens that the schemas of all its tools may take in a request.",
    )
    max_steps = models.PositiveSmallIntegerField(
        default=8, help_text="Requests to the model that one message may take."
    )
    approval_default = models.CharField(
        max_length=16, choices=ApprovalDefault, default=ApprovalDefault.ALLOW
    )
    fallback_models = ArrayField(
        models.CharField(max_length=120),
        default=list,
        blank=True,
        help_text="LiteLLM model strings that are asked in turn when the model does not answer.",
    )
    tool_protocol = models.CharField(max_length=16, choices=ToolProtocol, default=ToolProtocol.AUTO)
    mcp_tools = models.CharField(
        max_length=16, choices=McpTools, default=McpTools.ALL, db_default="all"
    )
    code_execution = models.BooleanField(
        default=False,
        help_text="Whether it may write Python that calls its tools; it runs in the sandbox.",
    )
    scopes = ArrayField(
        models.CharField(max_length=100),
        default=list,
        blank=True,
        help_text="Scopes granted to this agent; a tool that requires others is refused.",
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="agents"
    )
    team = models.ForeignKey(
        Group, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    visibility = models.CharField(
        max_length=16, choices=AgentVisibility, default=AgentVisibility.PRIVATE
    )
    tools = models.ManyToManyField(
        "registry.Tool", through="agents.AgentTool", related_name="+", blank=True
    )
    offered_as = models.OneToOneField(
        "registry.Tool",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="The tool by which other agents may ask it.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(max_found_tools__lte=20), name="agent_found_tools_range"
            ),
            models.CheckConstraint(
                condition=models.Q(schema_budget__gte=500, schema_budget__lte=200_000),
                name="agent_schema_budget_range",
            ),
            models.CheckConstraint(
                condition=models.Q(max_steps__gte=1, max_steps__lte=50),
                name="agent_max_steps_range",
            ),
            models.CheckConstraint(
                condition=models.Q(approval_default__in=ApprovalDefault.values),
                name="agent_approval_default_known",
            ),
            models.CheckConstraint(
                condition=models.Q(tool_protocol__in=ToolProtocol.values),
                name="agent_tool_protocol_known",
            ),
            models.CheckConstraint(
                condition=models.Q(mcp_tools__in=McpTools.values), name="agent_mcp_tools_known"
            ),
            models.CheckConstraint(
                condition=models.Q(discovery_mode__in=DiscoveryMode.values),
                name="agent_discovery_known",
            ),
            models.CheckConstraint(
                condition=~models.Q(visibility=AgentVisibility.TEAM) | models.Q(team__isnull=False),
                name="agent_team_named",
            ),
        ]

        triggers = audited(
            "agent",
            *("slug", "name", "description", "instructions", "model", "discovery_mode"),
            *("schema_budget", "max_steps", "approval_default", "fallback_models", "tool_protocol"),
            *("max_found_tools", "code_execution", "scopes", "owner", "team", "visibility"),
            *("offered_as", "mcp_tools"),
            label="item.slug",
        )

    def __str__(self) -> str:
        return self.name
