"""What a run waits for a person to say."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from sequences.models.run import Run
from sequences.models.run_step import RunStep


class RunRequest(models.Model):
    """The question of an approval step, answered once: approved or not, with a form's values."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="requests")
    step = models.OneToOneField(RunStep, on_delete=models.CASCADE, related_name="request")
    title = models.CharField(max_length=200, blank=True)
    message = models.TextField(blank=True)
    input_schema = models.JSONField(null=True, blank=True, help_text="The form's, if it has one.")
    asked_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    approved = models.BooleanField(null=True, blank=True, help_text="Empty: not answered yet.")
    values = models.JSONField(null=True, blank=True)
    note = models.TextField(blank=True, max_length=2_000)
    answered_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    answered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(approved=None, answered_at=None)
                | Q(approved__isnull=False, answered_at__isnull=False),
                name="run_request_answered_once",
            ),
        ]
        indexes = [
            models.Index(
                fields=["expires_at"],
                name="run_request_expires",
                condition=Q(approved=None, expires_at__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return f"request of run {self.run_id}"
