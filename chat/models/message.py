"""What was said, in the order the model sees it."""

import uuid

from django.db import models

from chat.models.turn import Turn


class Role(models.TextChoices):
    USER = "user", "User"
    ASSISTANT = "assistant", "Assistant"
    TOOL = "tool", "Tool"


class Message(models.Model):
    """One message of a turn, saved as soon as it is complete.

    `tool_calls` (assistant): `[{id, name, arguments}]`, `arguments` as the model's own text.
    `tool_call_id`, `result` (tool): the answer to one of them,
    `{status, output|error, duration_ms}`.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="messages")
    position = models.PositiveIntegerField()
    role = models.CharField(max_length=16, choices=Role)
    content = models.TextField(blank=True)
    tool_calls = models.JSONField(default=list, blank=True)
    tool_call_id = models.CharField(max_length=100, blank=True)
    result = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["-created_at"], name="message_time")]
        constraints = [
            models.UniqueConstraint(fields=["turn", "position"], name="message_unique"),
            models.CheckConstraint(
                condition=models.Q(role__in=Role.values), name="message_role_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role}: {self.content[:40]}"
