"""Who may change a package that is here already."""

from django.contrib.auth.models import User

from registry.importing.errors import PackageNotYours
from registry.models import Package
from registry.models.package import ReviewStatus


def require_may_change(package: Package, user: User | None) -> None:
    """Raise PackageNotYours unless the person added the package or reviews packages.

    `None` is the operator at the command line.
    """
    if user is not None and not may_change(package, user):
        raise PackageNotYours(f"{package.name} is here already, and you did not add it.")


def may_change(package: Package, user: User) -> bool:
    """Tell whether a person may import a package that is here already anew."""
    return package.added_by_id == user.pk or reviews_packages(user)


def reviews_packages(user: User) -> bool:
    """Tell whether a person governs packages."""
    return user.has_perm("registry.change_package")


def status_after_change(package: Package, user: User | None) -> ReviewStatus:
    """Return the review status of a package whose code has just changed.

    What was approved is the code that was read: new code from somebody who is no reviewer has to
    be approved anew. A rejected or quarantined package stays so.
    """
    status = ReviewStatus(package.review_status)
    if status == ReviewStatus.APPROVED and user is not None and not reviews_packages(user):
        return ReviewStatus.CANDIDATE
    return status
