"""Which tools an agent always carries."""

from django.db import models

from agents.models.agent import Agent
from registry.models.audit_triggers import audited


class Approval(models.TextChoices):
    RULES = "rules", "As the agent's rules say"
    ALLOW = "allow", "Allow"
    ASK = "ask", "Ask first"
    DENY = "deny", "Deny"


class AgentTool(models.Model):
    """The link of a tool to an agent, with what this agent says of it."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="links")
    tool = models.ForeignKey("registry.Tool", on_delete=models.PROTECT, related_name="+")
    config = models.JSONField(
        default=dict, blank=True, help_text="Arguments that this agent always sends."
    )
    pinned_version = models.PositiveIntegerField(
        null=True, blank=True, help_text="Empty: always the current version."
    )
    approval = models.CharField(max_length=16, choices=Approval, default=Approval.RULES)
    name_override = models.CharField(
        max_length=64, blank=True, help_text="What this agent's model knows the tool as."
    )
    description_override = models.TextField(
        blank=True, help_text="What this agent's model is told of the tool."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["agent", "tool"], name="agent_tool_unique"),
            models.CheckConstraint(
                condition=models.Q(approval__in=Approval.values), name="agent_tool_approval_known"
            ),
            models.UniqueConstraint(
                fields=["agent", "name_override"],
                name="agent_tool_name_unique",
                condition=~models.Q(name_override=""),
            ),
            models.CheckConstraint(
                condition=models.Q(name_override__regex=r"^([A-Za-z0-9_-]{1,64})?$"),
                name="agent_tool_name_form",
            ),
        ]

        indexes = [
            models.Index(fields=["-created_at"], name="agent_tool_time"),
            models.Index(fields=["approval", "-created_at"], name="agent_tool_approval_time"),
        ]
        triggers = audited(
            "agent_tool",
            *("agent", "tool", "config", "pinned_version", "approval", "name_override"),
            "description_override",
            label="(SELECT slug FROM agents_agent WHERE id = item.agent_id) || ' → ' ||"
            " (SELECT wire_name FROM registry_tool WHERE id = item.tool_id)",
            subject=("'agents.agent'", "item.agent_id"),
        )

    def __str__(self) -> str:
        return f"{self.agent_id} → {self.tool_id}"

    @property
    def missing_scopes(self) -> list[str]:
        """Return the scopes that the tool requires and the agent is not granted."""
        return sorted(set(self.tool.required_scopes) - set(self.agent.scopes))
