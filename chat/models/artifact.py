"""What tools made in a conversation and was too long to be told."""

import uuid

from django.db import models

from chat.models.conversation import Conversation
from registry.artifact_store import LARGEST


class Artifact(models.Model):
    """One version of a named artifact; `invocation_id` names the call that made it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="artifacts"
    )
    name = models.CharField(max_length=100)
    version = models.PositiveIntegerField()
    media_type = models.CharField(max_length=100)
    size = models.PositiveIntegerField()
    digest = models.CharField(max_length=64, help_text="SHA-256 of the content.")
    content = models.BinaryField()
    invocation_id = models.UUIDField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["conversation", "name", "version"], name="artifact_unique"
            ),
            models.CheckConstraint(condition=models.Q(size__lte=LARGEST), name="artifact_size"),
            models.CheckConstraint(
                condition=models.Q(name__regex=r"^[\w.()-][\w.() -]{0,99}$"),
                name="artifact_name_form",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} v{self.version}"
