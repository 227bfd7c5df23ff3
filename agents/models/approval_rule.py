"""Which tools an agent may call without asking, only after asking, or not at all."""

import uuid

from django.db import models

from agents.models.agent import Agent
from registry.models.audit_triggers import audited


class RuleEffect(models.TextChoices):
    ALLOW = "allow", "Allow"
    ASK = "ask", "Ask first"
    DENY = "deny", "Deny"


class ApprovalRule(models.Model):
    """A rule of one agent. Deny wins over ask, ask over allow; where none fits, the agent's
    `approval_default` holds.

    `pattern` is a glob over wire names (`github_*`), over `package/name` with its package
    (`npm:@acme/mail/*`), or names an annotation: `@read_only`, `@writes`, `@destructive`,
    `@open_world`.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="approval_rules")
    pattern = models.CharField(max_length=200)
    effect = models.CharField(max_length=16, choices=RuleEffect)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["agent", "pattern"], name="approval_rule_unique"),
            models.CheckConstraint(
                condition=models.Q(effect__in=RuleEffect.values), name="approval_rule_effect_known"
            ),
        ]
        triggers = audited(
            "approval_rule",
            *("agent", "pattern", "effect"),
            label="(SELECT slug FROM agents_agent WHERE id = item.agent_id)"
            " || ': ' || item.pattern",
            subject=("'agents.agent'", "item.agent_id"),
        )

    def __str__(self) -> str:
        return f"{self.effect} {self.pattern}"
