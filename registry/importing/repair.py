"""Mend what an import found to have drifted."""

from django.contrib.auth.models import User

from registry.importing.errors import CannotBind
from registry.importing.npm import npm_bind
from registry.models import Package
from registry.models.package import Ecosystem


def package_repair(package: Package, *, declared: str, export: str, user: User | None) -> Package:
    """Bind a declared tool to the export that is meant; the package's next imports keep to it.

    Raises PackageNotYours, CannotBind, and what the sandbox raises.
    """
    if package.ecosystem != Ecosystem.NPM:
        raise CannotBind(f"The tools of {package} are not bound to exports.")
    return npm_bind(package, {declared: export}, user=user).package
