"""Run a sequence when another program posts to an address."""

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from config.lib.sealing import SealedField
from registry.models.audit_triggers import audited


class Signing(models.TextChoices):
    """How the sender proves that it knows the secret."""

    STANDARD = "standard", "Standard Webhooks"
    GITHUB = "github", "X-Hub-Signature-256"


class Webhook(models.Model):
    """An address of its own for a sequence, whose callers sign what they send.

    `input_mapping` has a JMESPath expression over `{body, headers}` for each input of the sequence;
    without it the body is the input.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tool = models.ForeignKey("registry.Tool", on_delete=models.CASCADE, related_name="webhooks")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="webhooks"
    )
    name = models.CharField(max_length=80, blank=True)
    signing = models.CharField(max_length=16, choices=Signing, default=Signing.STANDARD)
    secret = SealedField()
    secret_set_at = models.DateTimeField(default=timezone.now)
    input_mapping = models.JSONField(null=True, blank=True)
    scopes = ArrayField(
        models.CharField(max_length=100),
        null=True,
        blank=True,
        help_text="Scopes of whoever saved it last; empty (null) means: not limited by scopes.",
    )
    enabled = models.BooleanField(default=True)
    last_at = models.DateTimeField(null=True, blank=True)
    last_error = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(signing__in=Signing.values), name="webhook_signing_known"
            )
        ]
        indexes = [models.Index(fields=["tool", "owner"], name="webhook_tool_owner")]
        triggers = audited(
            "webhook",
            *("tool", "owner", "name", "signing", "secret_set_at", "input_mapping"),  # no secret
            *("scopes", "enabled"),
            label="coalesce(nullif(item.name, ''), item.id::text)",
            subject=("'registry.tool'", "item.tool_id"),
        )

    def __str__(self) -> str:
        return f"webhook {self.id}"

    @property
    def sealed_name(self) -> str:
        """Say whose it is, for an operator."""
        return f"the secret of webhook {self.id} of {self.owner.username}"


class WebhookDelivery(models.Model):
    """One message that came in, so that the same one sent twice starts one run."""

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    delivery_id = models.CharField(max_length=200)
    run = models.ForeignKey(
        "sequences.Run", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    received_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["webhook", "delivery_id"], name="webhook_delivery_unique"
            )
        ]
        indexes = [models.Index(fields=["received_at"], name="webhook_delivery_time")]

    def __str__(self) -> str:
        return self.delivery_id
