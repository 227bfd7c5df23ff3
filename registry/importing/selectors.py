"""Which imports a person should know of."""

from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from registry.models import ImportJob
from registry.models.job import OPEN, JobStatus
from registry.selectors import jobs_visible_to

TOLD_FOR = timedelta(days=1)
"""For how long a failed import is news."""


def open_imports(user: User) -> QuerySet[ImportJob]:
    """Return the imports that wait or run, newest first."""
    return jobs_visible_to(user).filter(status__in=OPEN).order_by("-created_at", "pk")


def failed_imports(user: User) -> QuerySet[ImportJob]:
    """Return the newly failed imports that nobody has tried again since, newest first."""
    later = ImportJob.objects.filter(
        ecosystem=OuterRef("ecosystem"),
        name=OuterRef("name"),
        created_at__gt=OuterRef("created_at"),
    )
    return (
        jobs_visible_to(user)
        .filter(~Exists(later), status=JobStatus.FAILED, created_at__gt=timezone.now() - TOLD_FOR)
        .order_by("-created_at", "pk")
    )
