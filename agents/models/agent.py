"""An owner's configured assistant."""

import uuid

from django.conf import settings
from django.contrib.auth.models import Group
from django.contrib.postgres.fields import ArrayField
from django.db import models

from registry.models.audit_triggers import audited


class DiscoveryMode(models.TextChoices):
    LINKED = "linked", "Only the linked tools"
    AUTO = "auto", "Linked tools, and what a search finds for the message"


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
        max_length=16, choices=DiscoveryMode, default=DiscoveryMode.AUTO
    )
    max_found_tools = models.PositiveSmallIntegerField(
        default=5, help_text="How many found tools one message may add."
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
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(max_found_tools__lte=20), name="agent_found_tools_range"
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
            *("max_found_tools", "code_execution", "scopes", "owner", "team", "visibility"),
            label="item.slug",
        )

    def __str__(self) -> str:
        return self.name
