"""A file that a step of a run made."""

import uuid

from django.db import models

from registry.artifact_store import LARGEST
from sequences.models.run import Run
from sequences.models.run_step import RunStep


class RunArtifact(models.Model):
    """One version of a named artifact of a run; `invocation_id` names the call that made it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="artifacts")
    step = models.ForeignKey(
        RunStep, null=True, blank=True, on_delete=models.CASCADE, related_name="artifacts"
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
            models.UniqueConstraint(fields=["run", "name", "version"], name="run_artifact_unique"),
            models.CheckConstraint(condition=models.Q(size__lte=LARGEST), name="run_artifact_size"),
        ]

    def __str__(self) -> str:
        return f"{self.name} v{self.version}"
