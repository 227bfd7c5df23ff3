"""Who may change a package that is here already."""

from django.contrib.auth.models import User

from registry.importing.errors import PackageNotYours
from registry.models import Package


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
