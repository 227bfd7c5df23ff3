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
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        indexes = [
            models.Index(fields=["-updated_at"], name="conversation_time"),
            models.Index(fields=["user", "-updated_at"], name="conversation_user_time"),
        ]

    def __str__(self) -> str:
        return self.title or str(self.id)
