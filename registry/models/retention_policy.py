"""How long records are kept."""

from typing import Any

from django.db import models

from registry.models.audit_event import AUDIT_FLOOR_DAYS
from registry.models.audit_triggers import audited

LONGEST_DAYS = 3650


class Records(models.TextChoices):
    """What is kept for a time."""

    INVOCATIONS = "invocations", "Calls of tools"
    AUDIT_EVENTS = "audit_events", "Audit"
    IMPORT_JOBS = "import_jobs", "Imports"


class RetentionPolicy(models.Model):
    """For one kind of records, after how many days they are deleted; without days never."""

    records = models.CharField(max_length=20, primary_key=True, choices=Records)
    keep_days = models.PositiveIntegerField(
        null=True, blank=True, help_text="Empty: they are kept for good."
    )
    reason = models.CharField(max_length=500, blank=True, help_text="Why it is so.")
    last_run_at = models.DateTimeField(null=True, blank=True)
    last_deleted = models.PositiveBigIntegerField(default=0)

    class Meta:
        verbose_name_plural = "retention policies"
        default_permissions = ("view", "change")
        constraints = [
            models.CheckConstraint(
                condition=models.Q(records__in=Records.values), name="retention_records_known"
            ),
            models.CheckConstraint(
                condition=models.Q(keep_days=None)
                | models.Q(keep_days__gte=1, keep_days__lte=LONGEST_DAYS),
                name="retention_days_range",
            ),
            models.CheckConstraint(
                condition=~models.Q(records=Records.AUDIT_EVENTS)
                | models.Q(keep_days=None)
                | models.Q(keep_days__gte=AUDIT_FLOOR_DAYS),
                name="retention_audit_floor",
            ),
        ]
        triggers = audited("retention", "records", "keep_days", "reason", label="item.records")

    def __str__(self) -> str:
        return str(self.get_records_display())


def make_policies(using: str, **_: Any) -> None:
    """After a migration, make the policies that are missing; new ones keep records for good."""
    for records in Records:
        RetentionPolicy.objects.using(using).get_or_create(records=records)
