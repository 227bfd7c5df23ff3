"""How a tool fared over time, and when its score is due."""

from django.db import models

from registry.models.event_triggers import tells_health
from registry.models.health import HealthState
from registry.models.tool import Tool
from registry.models.triggers import append_only


class HealthChange(models.Model):
    """From `at` on the tool was in `state`; `error_code` says what set it, if an error did."""

    tool = models.ForeignKey(Tool, on_delete=models.PROTECT, related_name="health_changes")
    at = models.DateTimeField()
    state = models.CharField(max_length=16, choices=HealthState)
    error_code = models.CharField(max_length=64, blank=True)

    class Meta:
        indexes = [models.Index(fields=["tool", "-at", "-id"], name="health_change_tool")]
        triggers = [append_only("health_change_append_only"), tells_health()]

    def __str__(self) -> str:
        return f"{self.tool_id} {self.state}"


class QualityDue(models.Model):
    """A tool whose score has to be worked out again from `due_at` on.

    Kept apart from the tool, whose every change makes searches reload.
    """

    tool = models.OneToOneField(
        Tool, primary_key=True, on_delete=models.CASCADE, related_name="quality_due"
    )
    due_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.tool_id} at {self.due_at}"
