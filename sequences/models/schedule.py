"""Run a sequence at times that a cron expression names."""

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from registry.models.audit_triggers import audited


class Schedule(models.Model):
    """When a sequence is run, with which input, in the name of whom.

    `next_at` is claimed by a conditional update, so two beats start one run. A time that was missed
    is made up for once.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tool = models.ForeignKey("registry.Tool", on_delete=models.CASCADE, related_name="schedules")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="schedules"
    )
    name = models.CharField(max_length=80, blank=True)
    cron = models.CharField(max_length=100, help_text="Five fields: minute hour day month weekday.")
    timezone = models.CharField(max_length=64, default="UTC", help_text="An IANA name.")
    input = models.JSONField(default=dict)
    scopes = ArrayField(
        models.CharField(max_length=100),
        null=True,
        blank=True,
        help_text="Scopes of whoever saved it last; empty (null) means: not limited by scopes.",
    )
    enabled = models.BooleanField(default=True)
    next_at = models.DateTimeField(null=True, blank=True)
    last_at = models.DateTimeField(null=True, blank=True)
    last_error = models.JSONField(
        null=True, blank=True, help_text="Why the last run could not be started, if it could not."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(enabled=False) | Q(next_at__isnull=False),
                name="schedule_enabled_has_next",
            )
        ]
        indexes = [
            models.Index(fields=["next_at"], name="schedule_due", condition=Q(enabled=True)),
            models.Index(fields=["tool", "owner"], name="schedule_tool_owner"),
        ]
        triggers = audited(
            "schedule",
            *("tool", "owner", "name", "cron", "timezone", "scopes", "enabled"),
            label="coalesce(nullif(item.name, ''), item.cron)",
            subject=("'registry.tool'", "item.tool_id"),
        )

    def __str__(self) -> str:
        return f"{self.cron} ({self.timezone})"
