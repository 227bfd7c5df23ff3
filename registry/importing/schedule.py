"""Which packages are due for a look at their health, shared out among the workers."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from celery import current_app
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone
from kombu.exceptions import OperationalError

from config.lib.errors import DomainError
from registry.importing.access import require_may_change
from registry.importing.checks import CHECKS
from registry.importing.errors import CannotCheck, NothingTold, QueueUnavailable
from registry.models import CheckSchedule, Package, Tool
from registry.selectors import BLOCKED

TASK = "registry.check_tool_health"

INTERVAL = timedelta(hours=6)
"""Between two looks at a package that is well."""

BROKEN_INTERVAL = timedelta(minutes=15)
LONGEST_INTERVAL = timedelta(hours=24)
"""A broken package is looked at sooner, then ever more seldom: 15, 30, 60 … minutes."""

LEASE = timedelta(minutes=30)
"""For how long a package belongs to the worker that took it; longer than any check takes."""

HELD_UP = timedelta(minutes=5)
"""When to try again after the sandbox or the package registry was not there."""

JITTER = 0.2
"""Share by which an interval varies, so that what was imported together spreads out."""


def packages_to_check(*, ecosystem: str = "", name: str = "") -> QuerySet[Package]:
    """Return the packages that can be checked: installed, with living tools, not stopped."""
    tools = Tool.objects.filter(package=OuterRef("pk"), deleted_at=None)
    packages = Package.objects.filter(
        Exists(tools), ecosystem__in=list(CHECKS), stopped_at=None
    ).exclude(review_status__in=BLOCKED)
    if ecosystem:
        packages = packages.filter(ecosystem=ecosystem)
    if name:
        packages = packages.filter(name=name)
    return packages.order_by("name", "pk")


def can_check(package: Package | None) -> bool:
    """Tell whether a package's tools can be looked at without calling them."""
    return (
        package is not None
        and package.ecosystem in CHECKS
        and package.review_status not in BLOCKED
        and package.stopped_at is None
    )


@transaction.atomic
def lease_due(limit: int) -> list[Package]:
    """Take up to `limit` packages that are due; nobody else gets them before `LEASE` is over.

    Rows that another worker is just taking are passed over, so none waits and none is taken twice.
    """
    now = timezone.now()
    _enrol()
    due = list(
        CheckSchedule.objects.select_for_update(skip_locked=True)
        .filter(Q(next_at=None) | Q(next_at__lte=now))
        .filter(package__in=packages_to_check().order_by())
        .order_by(F("next_at").asc(nulls_first=True), "pk")[:limit]
    )
    taken = [row.package_id for row in due]
    CheckSchedule.objects.filter(pk__in=taken).update(next_at=now + LEASE)
    return list(Package.objects.filter(pk__in=taken).order_by("name", "pk"))


@contextmanager
def checking(package: Package) -> Iterator[None]:
    """Plan the next look soon where the block raises, for then nothing is known of the package."""
    try:
        yield
    except DomainError as error:
        _plan(package, next_at=timezone.now() + _varied(HELD_UP), error=error.as_dict())
        raise


def checked(package: Package, *, broken: bool) -> None:
    """Note that a package was looked at, and when it is next."""
    row, _ = CheckSchedule.objects.get_or_create(package=package)
    failures = min(row.failures + 1, 16) if broken else 0
    wait = min(BROKEN_INTERVAL * 2 ** (failures - 1), LONGEST_INTERVAL) if broken else INTERVAL
    now = timezone.now()
    _plan(package, failures=failures, last_at=now, next_at=now + _varied(wait), error=None)


def not_told(package: Package, reason: NothingTold) -> None:
    """Note why a look came to nothing; the next is when one at a package that is well would be."""
    CheckSchedule.objects.get_or_create(package=package)
    _plan(package, next_at=timezone.now() + _varied(INTERVAL), error=reason.as_dict())


def check_request(package: Package, user: User) -> None:
    """Have a package looked at as soon as a worker is free.

    Raises PackageNotYours, CannotCheck and QueueUnavailable.
    """
    require_may_change(package, user)
    if not can_check(package):
        raise CannotCheck(f"The tools of {package} cannot be looked at without calling them.")
    CheckSchedule.objects.update_or_create(
        package=package, defaults={"next_at": None, "error": None}
    )
    transaction.on_commit(_enqueue)


def schedule_of(package: Package) -> CheckSchedule:
    """Return when a package was and will be looked at; an unsaved row where that is not planned."""
    return CheckSchedule.objects.filter(package=package).first() or CheckSchedule(package=package)


def _enqueue() -> None:
    try:
        current_app.send_task(TASK, retry=False)
    except OperationalError:
        raise QueueUnavailable(
            "The job queue cannot be reached; the check waits until it can."
        ) from None


def _enrol() -> None:
    """Give each package that has none a place in the schedule: it was looked at by its import."""
    now = timezone.now()
    CheckSchedule.objects.bulk_create(
        [
            CheckSchedule(package=package, next_at=now + _varied(INTERVAL))
            for package in packages_to_check().filter(schedule=None)
        ],
        ignore_conflicts=True,
    )


def _plan(package: Package, **fields: object) -> None:
    CheckSchedule.objects.filter(package=package).update(**fields)


def _varied(interval: timedelta) -> timedelta:
    return interval * (1 + JITTER * (2 * secrets.SystemRandom().random() - 1))
