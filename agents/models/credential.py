"""Secrets that tools need."""

import uuid

from django.conf import settings
from django.db import models

from agents.models.agent import Agent
from config.lib.sealing import SealedField
from registry.models.audit_triggers import audited


class Credential(models.Model):
    """A secret value under an environment name, encrypted at rest.

    It belongs to a person, for all of their agents (`agent` empty) or for one of them. Only
    `agents.credentials` reads or writes `ciphertext`.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="credentials"
    )
    agent = models.ForeignKey(
        Agent, null=True, blank=True, on_delete=models.CASCADE, related_name="credentials"
    )
    name = models.CharField(max_length=100, help_text="Environment name, such as EXA_API_KEY.")
    ciphertext = SealedField()
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "agent", "name"], name="credential_unique", nulls_distinct=False
            ),
            models.CheckConstraint(
                condition=models.Q(name__regex=r"^[A-Z_][A-Z0-9_]{0,99}$"),
                name="credential_name_form",
            ),
        ]

        triggers = audited(
            "credential",
            *("owner", "agent", "name", "updated_at"),  # never its ciphertext
            label="item.name",
            subject=("'auth.user'", "item.owner_id"),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def sealed_name(self) -> str:
        """Say whose it is, for an operator."""
        place = f", for the agent {self.agent.name}" if self.agent else ""
        return f"credential {self.name} of {self.owner.username}{place}"
