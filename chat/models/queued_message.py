"""Messages that wait until the agent is done with the last one."""

import uuid

from django.db import models

from chat.models.conversation import Conversation


class QueuedMessage(models.Model):
    """A message that is sent when the turn before it has come to its answer, in order of time."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="queued")
    content = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["conversation", "created_at"], name="queued_message_order")]

    def __str__(self) -> str:
        return self.content[:40]
