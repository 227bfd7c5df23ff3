"""A person's talk with an agent."""

import uuid

from django.conf import settings
from django.db import models


class Conversation(models.Model):
    """Belongs to one person and one agent."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="conversations"
    )
    agent = models.ForeignKey(
        "agents.Agent", on_delete=models.CASCADE, related_name="conversations"
    )
    arm = models.ForeignKey(
        "agents.Arm",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="conversations",
        help_text="The toolset that the lot gave it, of an experiment that ran when it began.",
    )
    head = models.ForeignKey(
        "chat.Turn",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="The last turn of the branch that is shown and gone on with.",
    )
    title = models.CharField(max_length=120, blank=True)
    asked_in = models.ForeignKey(
        "chat.Turn",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="delegated",
        help_text="The turn of another agent that asked this one; empty where a person did.",
    )
    asked_call = models.CharField(
        max_length=100, blank=True, help_text="The tool call of that turn."
    )
    depth = models.PositiveSmallIntegerField(
        default=0, help_text="How many agents stand between it and a person."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["asked_in", "asked_call"],
                name="conversation_once_per_call",
                condition=~models.Q(asked_call=""),
            )
        ]
        indexes = [
            models.Index(fields=["-updated_at"], name="conversation_time"),
            models.Index(fields=["user", "-updated_at"], name="conversation_user_time"),
        ]

    def __str__(self) -> str:
        return self.title or str(self.id)
