"""One step of a run."""

import uuid

from django.db import models

from sequences.models.run import Run


class StepStatus(models.TextChoices):
    RUNNING = "running", "Running"
    SUCCEEDED = "succeeded", "Succeeded"
    FAILED = "failed", "Failed"
    REUSED = "reused", "Reused from the run that was retried"


class RunStep(models.Model):
    """What one step was given, what it gave back, and the sentence it is told by."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="steps")
    number = models.PositiveSmallIntegerField()
    tool = models.ForeignKey(
        "registry.Tool",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Empty when the definition names a tool that does not exist.",
    )
    tool_name = models.CharField(max_length=64)
    tool_version = models.PositiveIntegerField(
        null=True, blank=True, help_text="Empty when the tool could not be loaded."
    )
    status = models.CharField(max_length=16, choices=StepStatus, default=StepStatus.RUNNING)
    input = models.JSONField(null=True, blank=True)
    output = models.JSONField(null=True, blank=True)
    error = models.JSONField(null=True, blank=True)
    message = models.TextField(blank=True)
    attempts = models.PositiveSmallIntegerField(default=1)
    started_at = models.DateTimeField()
    duration_ms = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="run_step_unique"),
            models.CheckConstraint(
                condition=models.Q(status__in=StepStatus.values), name="run_step_status_known"
            ),
        ]

    def __str__(self) -> str:
        return f"step {self.number} of {self.run_id}"
