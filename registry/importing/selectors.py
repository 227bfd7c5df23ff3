"""Which packages a person sees, and which imports they should know of."""

from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from registry.models import ImportJob, Package, Tool
from registry.models.job import OPEN, JobCause, JobStatus
from registry.selectors import jobs_visible_to, packages_visible_to

TOLD_FOR = timedelta(days=1)
"""For how long a failed import is news."""


def packages_listed(user: User, *, q: str = "", review: str = "") -> QuerySet[Package]:
    """Return the visible packages in the order of their names, each with its `tool_count`.

    `q` narrows to names that contain it, `review` to one review status.
    """
    living = Tool.objects.filter(package=OuterRef("pk"), deleted_at=None).order_by()
    counted = living.values("package").annotate(count=Count("pk")).values("count")
    packages = packages_visible_to(user)
    if q:
        packages = packages.filter(name__icontains=q)
    if review:
        packages = packages.filter(review_status=review)
    return (
        packages.select_related("added_by")
        .defer("manifest")
        .annotate(tool_count=Coalesce(Subquery(counted), 0))
        .order_by("name", "pk")
    )


def tools_of(package: Package) -> QuerySet[Tool]:
    """Return the living tools of a package, for those who may see the package itself."""
    return (
        Tool.objects.filter(package=package, deleted_at=None)
        .select_related("package")
        .order_by("title", "pk")
    )


def open_imports(user: User) -> QuerySet[ImportJob]:
    """Return the imports that wait or run, newest first."""
    asked = jobs_visible_to(user).exclude(cause=JobCause.SYNC)
    return asked.filter(status__in=OPEN).order_by("-created_at", "pk")


def failed_imports(user: User) -> QuerySet[ImportJob]:
    """Return the newly failed imports that nobody has tried again since, newest first."""
    later = ImportJob.objects.filter(
        ecosystem=OuterRef("ecosystem"),
        name=OuterRef("name"),
        created_at__gt=OuterRef("created_at"),
    )
    return (
        jobs_visible_to(user)
        .exclude(cause=JobCause.SYNC)  # those are told on the page of the registries
        .filter(~Exists(later), status=JobStatus.FAILED, created_at__gt=timezone.now() - TOLD_FOR)
        .order_by("-created_at", "pk")
    )
