"""One user message and everything up to the final answer."""

import uuid

import pgtrigger
from django.db import models

from chat.models.conversation import Conversation


class TurnStatus(models.TextChoices):
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    COMPLETED = "completed", "Completed"
    FAILED = "failed", "Failed"
    STOPPED = "stopped", "Stopped"


OPEN = (TurnStatus.QUEUED, TurnStatus.RUNNING)


class Turn(models.Model):
    """The state of a turn; a process claims it by `status` and tells by `heartbeat_at` it lives."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="turns")
    number = models.PositiveIntegerField()
    status = models.CharField(max_length=16, choices=TurnStatus, default=TurnStatus.QUEUED)
    model = models.CharField(max_length=120)
    found = models.JSONField(
        null=True, blank=True, help_text="What the search found: {query, tools: [...]}."
    )
    usage = models.JSONField(default=dict, blank=True)
    error = models.JSONField(null=True, blank=True)
    stop_requested_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["conversation", "number"], name="turn_unique"),
            models.UniqueConstraint(
                fields=["conversation"],
                name="turn_one_open",
                condition=models.Q(status__in=OPEN),
                violation_error_message="The agent is still answering the last message.",
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=TurnStatus.values), name="turn_status_known"
            ),
        ]
        triggers = [
            pgtrigger.FSM(
                name="turn_status_moves_forward",
                field="status",
                transitions=[
                    (TurnStatus.QUEUED, TurnStatus.RUNNING),
                    (TurnStatus.QUEUED, TurnStatus.STOPPED),
                    (TurnStatus.QUEUED, TurnStatus.FAILED),
                    (TurnStatus.RUNNING, TurnStatus.COMPLETED),
                    (TurnStatus.RUNNING, TurnStatus.FAILED),
                    (TurnStatus.RUNNING, TurnStatus.STOPPED),
                ],
            )
        ]

    def __str__(self) -> str:
        return f"turn {self.number} of {self.conversation_id}"
