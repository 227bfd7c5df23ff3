"""Keys for scripts."""

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from registry.models.audit_triggers import audited


class ApiToken(models.Model):
    """A personal API token; only its SHA-256 is kept, so it can be shown just once."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens"
    )
    name = models.CharField(max_length=80)
    prefix = models.CharField(max_length=16, help_text="First characters, to tell tokens apart.")
    digest = models.CharField(max_length=64, unique=True)
    scopes = ArrayField(
        models.CharField(max_length=100), default=list, blank=True, help_text="Empty: all."
    )
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["user", "-created_at"], name="api_token_user")]

        triggers = audited(
            "api_token",
            *("user", "name", "prefix", "scopes", "expires_at"),
            label="item.name",
            subject=("'auth.user'", "item.user_id"),
        )

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"
