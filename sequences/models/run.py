"""One execution of a sequence."""

import uuid

import pgtrigger
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from config.lib.sealing import SealedField


class RunStatus(models.TextChoices):
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    SUCCEEDED = "succeeded", "Succeeded"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


FINISHED = (RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.CANCELLED)


class Run(models.Model):
    """A run of one immutable version of a sequence; a worker claims it by `status`."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tool = models.ForeignKey("registry.Tool", on_delete=models.PROTECT, related_name="runs")
    tool_version = models.ForeignKey(
        "registry.ToolVersion", on_delete=models.PROTECT, related_name="+"
    )
    status = models.CharField(max_length=16, choices=RunStatus, default=RunStatus.QUEUED)
    input = models.JSONField(default=dict)
    output = models.JSONField(null=True, blank=True)
    error = models.JSONField(null=True, blank=True)
    caller = models.CharField(max_length=16)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="sequence_runs"
    )
    agent = models.ForeignKey(
        "agents.Agent", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    scopes = ArrayField(
        models.CharField(max_length=100),
        null=True,
        blank=True,
        help_text="Scopes of whoever started it; empty (null) means: not limited by scopes.",
    )
    turn_id = models.UUIDField(null=True, blank=True)
    given = SealedField(
        null=True,
        blank=True,
        help_text="Sealed values that came with the call; they go when the run ends.",
    )
    parent_step = models.ForeignKey(
        "sequences.RunStep",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="child_runs",
    )
    retry_of = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="retries"
    )
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="When it was last put in the queue; then its worker's last sign of life.",
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(status__in=RunStatus.values), name="run_status_known"
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=FINISHED, finished_at__isnull=False)
                | (~models.Q(status__in=FINISHED) & models.Q(finished_at=None)),
                name="run_finished_at_matches_status",
            ),
            models.CheckConstraint(
                condition=~models.Q(status__in=FINISHED) | models.Q(given=None),
                name="run_finished_holds_no_values",
            ),
        ]
        indexes = [
            models.Index(fields=["-created_at"], name="run_time"),
            models.Index(fields=["user", "-created_at"], name="run_user_time"),
            models.Index(fields=["tool", "user", "-created_at"], name="run_tool_user_time"),
            models.Index(fields=["status", "created_at"], name="run_status_time"),
        ]
        triggers = [
            pgtrigger.FSM(
                name="run_status_moves_forward",
                field="status",
                transitions=[
                    (RunStatus.QUEUED, RunStatus.RUNNING),
                    (RunStatus.QUEUED, RunStatus.CANCELLED),
                    (RunStatus.QUEUED, RunStatus.FAILED),
                    (RunStatus.RUNNING, RunStatus.SUCCEEDED),
                    (RunStatus.RUNNING, RunStatus.FAILED),
                    (RunStatus.RUNNING, RunStatus.CANCELLED),
                ],
            )
        ]

    def __str__(self) -> str:
        return f"run {self.id} ({self.status})"

    @property
    def sealed_name(self) -> str:
        """Say whose it is, for an operator."""
        return f"values given to run {self.id} of {self.user.username}"

    @property
    def is_finished(self) -> bool:
        """Tell whether nothing more will happen to this run."""
        return self.status in FINISHED
