"""One execution of a sequence."""

import uuid
from datetime import timedelta

import pgtrigger
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from config.lib.sealing import SealedField
from config.lib.types import JsonObject
from registry.models.event_triggers import tells_runs


class RunStatus(models.TextChoices):
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    WAITING = "waiting", "Waits for a person"
    ATTENTION = "attention", "Needs attention"
    SUCCEEDED = "succeeded", "Succeeded"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


FINISHED = (RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.CANCELLED)
PAUSED = (RunStatus.WAITING, RunStatus.ATTENTION)
"""A person has to say something; no worker has the run."""


STARTED_BY = {
    "browser": "A person",
    "chat": "A conversation",
    "rest": "The REST API",
    "mcp": "An MCP client",
    "sequence": "Another sequence",
    "code": "A program",
    "schedule": "A schedule",
    "webhook": "A webhook",
}
"""What `Run.caller` says, in words."""


class Run(models.Model):
    """A run of one immutable version of a sequence, or a test of a draft (`definition`).

    A worker claims it with a `lease`, a new one each time, and renews it while it works. Whoever
    finds the lease run out puts the run in the queue again; what the former holder writes then is
    refused, because it names the lease it had.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tool = models.ForeignKey(
        "registry.Tool",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="runs",
        help_text="Empty in a test of a draft that was never published.",
    )
    tool_version = models.ForeignKey(
        "registry.ToolVersion",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Empty in a test of a draft.",
    )
    draft = models.ForeignKey(
        "sequences.SequenceDraft",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="tests",
        help_text="The draft that this is a test of.",
    )
    definition = models.JSONField(
        null=True, blank=True, help_text="What a test runs; else the version says it."
    )
    until_step = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="The number of the last step that a test runs."
    )
    status = models.CharField(max_length=16, choices=RunStatus, default=RunStatus.QUEUED)
    input = models.JSONField(default=dict)
    output = models.JSONField(null=True, blank=True)
    error = models.JSONField(null=True, blank=True)
    caller = models.CharField(max_length=16)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="sequence_runs",
        db_index=False,
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
    call_id = models.CharField(
        max_length=200,
        blank=True,
        help_text="The model's name of the call that began it, in its turn.",
    )
    schedule = models.ForeignKey(
        "sequences.Schedule",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="runs",
        db_index=False,
    )
    webhook = models.ForeignKey(
        "sequences.Webhook",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="runs",
        db_index=False,
    )
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
    sent_at = models.DateTimeField(
        null=True, blank=True, help_text="When it was last put in the queue."
    )
    lease = models.UUIDField(
        null=True, blank=True, help_text="Names this claim of this worker; empty: nobody has it."
    )
    lease_until = models.DateTimeField(null=True, blank=True)
    worker = models.CharField(
        max_length=255, blank=True, help_text="The node name of the worker that has it, or had."
    )
    hand_over = models.BooleanField(
        default=False, help_text="Its worker is shutting down and gives it back after this step."
    )
    claims = models.PositiveSmallIntegerField(
        default=0, help_text="How often workers have taken it."
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
            models.CheckConstraint(
                condition=models.Q(
                    status=RunStatus.RUNNING, lease__isnull=False, lease_until__isnull=False
                )
                | (~models.Q(status=RunStatus.RUNNING) & models.Q(lease=None, lease_until=None)),
                name="run_lease_matches_status",
            ),
            models.CheckConstraint(
                condition=models.Q(tool_version__isnull=False, definition=None)
                | models.Q(tool_version=None, definition__isnull=False),
                name="run_has_one_definition",
            ),
            models.CheckConstraint(
                condition=models.Q(tool_version=None) | models.Q(tool__isnull=False),
                name="run_of_version_has_tool",
            ),
        ]
        indexes = [
            models.Index(fields=["-created_at"], name="run_time"),
            models.Index(fields=["user", "-created_at"], name="run_user_time"),
            models.Index(fields=["user", "id"], name="run_user_id"),
            models.Index(fields=["tool", "user", "-created_at"], name="run_tool_user_time"),
            models.Index(
                fields=["user", "status", "-created_at"],
                name="run_user_status_time",
                condition=models.Q(parent_step=None),
            ),
            models.Index(
                fields=["user", "caller", "-created_at"],
                name="run_user_caller_time",
                condition=models.Q(parent_step=None),
            ),
            models.Index(
                fields=["user", "-created_at"],
                name="run_tests_of_user",
                condition=models.Q(tool_version=None),
            ),
            models.Index(
                fields=["schedule", "-created_at"],
                name="run_schedule_time",
                condition=models.Q(schedule__isnull=False),
            ),
            models.Index(
                fields=["webhook", "-created_at"],
                name="run_webhook_time",
                condition=models.Q(webhook__isnull=False),
            ),
            models.Index(fields=["status", "created_at"], name="run_status_time"),
            models.Index(
                fields=["tool", "created_at"],
                name="run_open_of_tool",
                condition=~models.Q(status__in=FINISHED),
            ),
            models.Index(
                fields=["turn_id", "call_id"],
                name="run_of_call",
                condition=models.Q(turn_id__isnull=False),
            ),
        ]
        triggers = [
            pgtrigger.FSM(
                name="run_status_moves_forward",
                field="status",
                transitions=[
                    (RunStatus.QUEUED, RunStatus.RUNNING),
                    (RunStatus.QUEUED, RunStatus.CANCELLED),
                    (RunStatus.QUEUED, RunStatus.FAILED),
                    (RunStatus.RUNNING, RunStatus.QUEUED),
                    (RunStatus.RUNNING, RunStatus.WAITING),
                    (RunStatus.RUNNING, RunStatus.ATTENTION),
                    (RunStatus.RUNNING, RunStatus.SUCCEEDED),
                    (RunStatus.RUNNING, RunStatus.FAILED),
                    (RunStatus.RUNNING, RunStatus.CANCELLED),
                    (RunStatus.WAITING, RunStatus.QUEUED),
                    (RunStatus.WAITING, RunStatus.FAILED),
                    (RunStatus.WAITING, RunStatus.CANCELLED),
                    (RunStatus.ATTENTION, RunStatus.QUEUED),
                    (RunStatus.ATTENTION, RunStatus.FAILED),
                    (RunStatus.ATTENTION, RunStatus.CANCELLED),
                ],
            ),
            tells_runs(),
        ]

    def __str__(self) -> str:
        return f"run {self.id} ({self.status})"

    @property
    def sealed_name(self) -> str:
        """Say whose it is, for an operator."""
        return f"values given to run {self.id} of {self.user.username}"

    @property
    def name(self) -> str:
        """Return what people know it by: the wire name of its sequence, or that it is a test."""
        return self.tool.wire_name if self.tool else "the test of a draft"

    @property
    def title(self) -> str:
        """Return what stands above it: the title of its sequence, or of the draft it tests."""
        if self.tool:
            return self.tool.title
        name = str(self.draft.document.get("name") or "").strip() if self.draft else ""
        return f"Test of “{name}”" if name else "Test of a draft"

    @property
    def started_by(self) -> str:
        """Return who or what started it, in words."""
        if self.tool_version_id is None:
            return "A test of a draft"
        return STARTED_BY.get(self.caller, self.caller)

    @property
    def took_ms(self) -> int | None:
        """Return the milliseconds from its beginning to its end; None before its end."""
        if self.started_at is None or self.finished_at is None:
            return None
        return round((self.finished_at - self.started_at) / timedelta(milliseconds=1))

    @property
    def plan(self) -> JsonObject:
        """Return the definition that it runs, as JSON."""
        if self.tool_version is not None:
            plan: JsonObject = self.tool_version.snapshot["definition"]
            return plan
        own: JsonObject = self.definition or {}
        return own

    @property
    def is_finished(self) -> bool:
        """Tell whether nothing more will happen to this run."""
        return self.status in FINISHED

    @property
    def is_paused(self) -> bool:
        """Tell whether it goes on once a person has said something."""
        return self.status in PAUSED
