"""The record of every call of a tool."""

import uuid

from django.conf import settings
from django.db import models

from registry.models.audit_triggers import kept_until_retention
from registry.models.tool import Tool
from registry.models.triggers import keeps_pending


class Caller(models.TextChoices):
    CHAT = "chat", "Chat"
    SEQUENCE = "sequence", "Sequence"
    BROWSER = "browser", "Tool page"
    REST = "rest", "REST API"
    MCP = "mcp", "MCP"
    CODE = "code", "Code"
    HEALTH = "health", "Health check"
    SCHEDULE = "schedule", "Schedule"
    WEBHOOK = "webhook", "Webhook"


class Outcome(models.TextChoices):
    SUCCEEDED = "succeeded", "Succeeded"
    FAILED = "failed", "Failed"


class Decision(models.TextChoices):
    """Whether a call was let through, and by whom or what it was not."""

    ALLOWED = "allowed", "Allowed"
    APPROVED = "approved", "Approved by a person"
    DENIED = "denied", "Denied by a person or by the agent's settings"
    REFUSED = "refused", "Refused: no permission"
    LIMITED = "limited", "Refused: too many calls"
    STOPPED = "stopped", "Refused: stopped"


class Invocation(models.Model):
    """One call, written once when it is over; nobody can change or delete it but
    `registry.retention`, when its time is over.

    `agent_id`, `turn_id` and `run_id` name rows of apps above this one and so are plain values;
    `parent_id` is the invocation of the code that made this call, whose row is written later.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tool = models.ForeignKey(Tool, on_delete=models.PROTECT, related_name="invocations")
    tool_version = models.PositiveIntegerField()
    caller = models.CharField(max_length=16, choices=Caller)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    agent_id = models.UUIDField(null=True, blank=True)
    turn_id = models.UUIDField(null=True, blank=True)
    run_id = models.UUIDField(null=True, blank=True)
    parent_id = models.UUIDField(null=True, blank=True)
    outcome = models.CharField(max_length=16, choices=Outcome)
    phase = models.CharField(max_length=16, help_text="The phase in which the call ended.")
    error_code = models.CharField(max_length=64, blank=True)
    error = models.JSONField(null=True, blank=True)
    arguments = models.JSONField()
    output = models.JSONField(null=True, blank=True)
    duration_ms = models.PositiveIntegerField()
    decision = models.CharField(max_length=16, choices=Decision, default=Decision.ALLOWED)
    cost = models.DecimalField(
        max_digits=12, decimal_places=6, null=True, blank=True, help_text="US dollars."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        permissions = [("view_invocation_content", "Can view what calls were given and gave")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(decision__in=Decision.values), name="invocation_decision_known"
            ),
            models.CheckConstraint(
                condition=models.Q(outcome=Outcome.SUCCEEDED, error_code="")
                | (models.Q(outcome=Outcome.FAILED) & ~models.Q(error_code="")),
                name="invocation_outcome_matches_error",
            ),
        ]
        indexes = [
            models.Index(fields=["tool", "-created_at"], name="invocation_tool_time"),
            models.Index(fields=["user", "-created_at"], name="invocation_user_time"),
            models.Index(fields=["agent_id", "-created_at"], name="invocation_agent_time"),
            models.Index(fields=["-created_at"], name="invocation_time"),
            models.Index(
                fields=["agent_id", "caller", "-created_at"],
                name="invocation_agent_caller",
                condition=models.Q(agent_id__isnull=False),
            ),
            models.Index(
                fields=["error_code", "caller", "-created_at"],
                name="invocation_error_caller",
                condition=~models.Q(error_code=""),
            ),
            models.Index(fields=["caller", "-created_at"], name="invocation_caller_time"),
            models.Index(
                fields=["error_code", "-created_at"],
                name="invocation_error_time",
                condition=~models.Q(error_code=""),
            ),
            models.Index(
                fields=["-created_at"],
                name="invocation_failed_time",
                condition=models.Q(outcome=Outcome.FAILED),
            ),
            models.Index(
                fields=["decision", "-created_at"],
                name="invocation_decision_time",
                condition=~models.Q(decision=Decision.ALLOWED),
            ),
            models.Index(
                fields=["parent_id", "created_at"],
                name="invocation_parent_time",
                condition=models.Q(parent_id__isnull=False),
            ),
        ]
        triggers = [*kept_until_retention("invocation_append_only"), keeps_pending()]

    def __str__(self) -> str:
        return f"{self.tool_id} {self.outcome}"
