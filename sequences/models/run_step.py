"""One step of a run."""

import uuid

from django.db import models

from sequences.models.run import Run


class StepStatus(models.TextChoices):
    RUNNING = "running", "Running"
    SUCCEEDED = "succeeded", "Succeeded"
    FAILED = "failed", "Failed"
    REUSED = "reused", "Taken over from an earlier run"
    SKIPPED = "skipped", "Skipped"
    FELL_BACK = "fell_back", "Failed; its fallback was used"
    WAITING = "waiting", "Waits for a person"
    IN_DOUBT = "in_doubt", "In doubt"


OPEN = (StepStatus.RUNNING, StepStatus.WAITING, StepStatus.IN_DOUBT)
"""Statuses in which a step has not ended."""


class RunStep(models.Model):
    """What one step was given, what it gave back, and the sentence it is told by.

    The row of a step that is repeated for a list has no `iteration`, and each iteration its own.
    A step is in doubt when its worker died between its beginning and its end: nobody knows whether
    its tool did its work.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="steps")
    number = models.PositiveSmallIntegerField()
    iteration = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="Which item of its loop, from 0; empty: the step itself."
    )
    key = models.CharField(max_length=64, blank=True, help_text="The step's key in its definition.")
    title = models.CharField(max_length=120, blank=True)
    tool = models.ForeignKey(
        "registry.Tool",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Empty when the definition names a tool that does not exist.",
    )
    tool_name = models.CharField(max_length=64, blank=True)
    tool_version = models.PositiveIntegerField(
        null=True, blank=True, help_text="Empty when the tool could not be loaded."
    )
    status = models.CharField(max_length=16, choices=StepStatus, default=StepStatus.RUNNING)
    input = models.JSONField(null=True, blank=True)
    output = models.JSONField(null=True, blank=True)
    error = models.JSONField(null=True, blank=True)
    message = models.TextField(blank=True)
    attempts = models.PositiveSmallIntegerField(default=1)
    lease = models.UUIDField(
        null=True, blank=True, help_text="The claim of the run under which it was begun last."
    )
    started_at = models.DateTimeField()
    duration_ms = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "number", "iteration"],
                name="run_step_unique",
                nulls_distinct=False,
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=StepStatus.values), name="run_step_status_known"
            ),
        ]

    def __str__(self) -> str:
        return f"step {self.number} of {self.run_id}"
