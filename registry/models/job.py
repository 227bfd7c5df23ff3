"""Imports that run in the background."""

import uuid

from django.conf import settings as configuration
from django.db import models

from registry.models.package import Ecosystem, Package


class JobStatus(models.TextChoices):
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    SUCCEEDED = "succeeded", "Succeeded"
    FAILED = "failed", "Failed"


class JobCause(models.TextChoices):
    """Who wanted an import; what nobody asked for is never applied at once."""

    IMPORT = "import", "A person, or the operator"
    SYNC = "sync", "A look at the registry"


OPEN = (JobStatus.QUEUED, JobStatus.RUNNING)


class ImportJob(models.Model):
    """One request to import a package, and how far it has come."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    ecosystem = models.CharField(max_length=16, choices=Ecosystem)
    name = models.CharField(max_length=214)
    version = models.CharField(max_length=64, blank=True, help_text="Empty: the newest.")
    settings = models.JSONField(
        default=dict, blank=True, help_text="What the ecosystem asks for besides, as `Package` has."
    )
    cause = models.CharField(max_length=16, choices=JobCause, default=JobCause.IMPORT)
    status = models.CharField(max_length=16, choices=JobStatus, default=JobStatus.QUEUED)
    stage = models.CharField(max_length=200, blank=True, help_text="What it is doing now.")
    report = models.JSONField(
        default=list, blank=True, help_text="One entry a tool: [{export, tool, status, message}]."
    )
    error = models.JSONField(null=True, blank=True)
    package = models.ForeignKey(
        Package, null=True, blank=True, on_delete=models.SET_NULL, related_name="jobs"
    )
    requested_by = models.ForeignKey(
        configuration.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(status__in=JobStatus.values), name="import_job_status_known"
            ),
            models.CheckConstraint(
                condition=models.Q(cause__in=JobCause.values), name="import_job_cause_known"
            ),
            models.UniqueConstraint(
                fields=["requested_by", "ecosystem", "name", "version", "cause"],
                name="import_job_one_open",
                condition=models.Q(status__in=OPEN),
                nulls_distinct=False,
            ),
        ]
        indexes = [models.Index(fields=["-created_at"], name="import_job_time")]

    def __str__(self) -> str:
        return f"{self.ecosystem}:{self.name}"

    @property
    def shown_version(self) -> str:
        """The version as people read it: of an upload's digest the beginning."""
        return self.version[:12] if self.ecosystem == Ecosystem.UPLOAD else self.version
