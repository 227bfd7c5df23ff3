"""Values that a person set for one conversation."""

import uuid

from django.db import models

from chat.models.conversation import Conversation
from config.lib.sealing import SealedField


class ConversationSecret(models.Model):
    """A secret under an environment name, for the tools of one conversation, until it expires.

    `replaced_at` is set when a newer value has taken its place: no tool receives it any more, but
    until it expires it is still kept out of what the agent says. Only `chat.variables` reads or
    writes `ciphertext`.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="secrets")
    name = models.CharField(max_length=100, help_text="Environment name, such as EXA_API_KEY.")
    ciphertext = SealedField()
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    replaced_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["conversation", "name"],
                name="conversation_secret_unique",
                condition=models.Q(replaced_at=None),
            ),
            models.CheckConstraint(
                condition=models.Q(name__regex=r"^[A-Z_][A-Z0-9_]{0,99}$"),
                name="conversation_secret_name_form",
            ),
        ]
        indexes = [models.Index(fields=["expires_at"], name="conversation_secret_expiry")]

    def __str__(self) -> str:
        return self.name

    @property
    def sealed_name(self) -> str:
        """Say whose it is, for an operator."""
        owner = self.conversation.user.username
        return f"{self.name} of {owner}, for the conversation {self.conversation_id}"
