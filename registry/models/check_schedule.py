"""When the health of a package's tools is looked at next."""

from django.db import models
from django.db.models import F

from registry.models.package import Package


class CheckSchedule(models.Model):
    """One row a package. Kept apart from the package, whose every change makes searches reload.

    A worker leases a due row by moving `next_at` into the future before it looks.
    """

    package = models.OneToOneField(
        Package, primary_key=True, on_delete=models.CASCADE, related_name="schedule"
    )
    next_at = models.DateTimeField(null=True, blank=True, help_text="Empty: as soon as may be.")
    last_at = models.DateTimeField(null=True, blank=True)
    error = models.JSONField(
        null=True, blank=True, help_text="Why the last look could not be carried out."
    )
    failures = models.PositiveSmallIntegerField(
        default=0, help_text="Checks in a row that found something broken."
    )

    class Meta:
        indexes = [models.Index(F("next_at").asc(nulls_first=True), name="check_schedule_due")]

    def __str__(self) -> str:
        return f"{self.package_id} at {self.next_at}"
