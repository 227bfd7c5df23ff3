"""What was changed of what is governed, by whom, from where and why."""

from django.conf import settings
from django.db import models

from registry.models.audit_triggers import kept_until_retention
from registry.models.triggers import rings_audit

AUDIT_FLOOR_DAYS = 30
"""No event is deleted before, whatever the policy and whoever asks; a trigger holds it."""


class Source(models.TextChoices):
    """Which door a change came in by."""

    BROWSER = "browser", "Browser"
    REST = "rest", "REST API"
    ADMIN = "admin", "Admin"
    COMMAND = "command", "Command line"
    WORKER = "worker", "Worker"
    MCP = "mcp", "MCP"
    DATABASE = "database", "Database"


class Operation(models.TextChoices):
    INSERT = "insert", "Added"
    UPDATE = "update", "Changed"
    DELETE = "delete", "Deleted"


class AuditEvent(models.Model):
    """One change of one row, written by a trigger in the transaction that made it.

    `before` and `after` hold the governed columns that changed: of a new row all that is not
    empty, of a deleted one likewise. `subject` is what the row belongs to, such as the agent of a
    tool link. The actor has no constraint, so that who is gone stays named.
    """

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField()
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="+",
    )
    actor_name = models.CharField(max_length=150, blank=True)
    source = models.CharField(max_length=16, choices=Source)
    request_id = models.CharField(max_length=64, blank=True)
    method = models.CharField(max_length=10, blank=True)
    path = models.CharField(max_length=500, blank=True, help_text="Without the query.")
    model = models.CharField(max_length=100, help_text="As `app.model`.")
    object_id = models.CharField(max_length=64)
    object_label = models.CharField(max_length=300, blank=True)
    subject_model = models.CharField(max_length=100)
    subject_id = models.CharField(max_length=64)
    operation = models.CharField(max_length=16, choices=Operation)
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    reason = models.CharField(max_length=500, blank=True)

    class Meta:
        verbose_name = "audit event"
        default_permissions = ("view",)
        constraints = [
            models.CheckConstraint(
                condition=models.Q(source__in=Source.values), name="audit_source_known"
            ),
            models.CheckConstraint(
                condition=models.Q(operation__in=Operation.values), name="audit_operation_known"
            ),
        ]
        indexes = [
            models.Index(fields=["-at", "-id"], name="audit_time"),
            models.Index(fields=["subject_id", "-at", "-id"], name="audit_subject_time"),
            models.Index(fields=["actor", "-at", "-id"], name="audit_actor_time"),
            models.Index(fields=["model", "-at", "-id"], name="audit_model_time"),
            models.Index(fields=["source", "-at", "-id"], name="audit_source_time"),
            models.Index(fields=["operation", "-at", "-id"], name="audit_operation_time"),
            models.Index(fields=["request_id"], name="audit_request"),
        ]
        triggers = [
            *kept_until_retention(
                "audit_append_only", f"OLD.at < now() - interval '{AUDIT_FLOOR_DAYS} days'"
            ),
            rings_audit(),
        ]

    def __str__(self) -> str:
        return f"{self.operation} {self.model} {self.object_label}"
