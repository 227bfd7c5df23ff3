"""What is asked for when a Python package or a local module is imported."""

import re

from django.contrib.auth.models import User
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from config.lib.errors import NotAllowed
from config.lib.types import JsonObject
from registry.importing.access import reviews_packages
from registry.importing.errors import InvalidPackageName, InvalidPackageVersion
from registry.models import Package
from registry.models.package import Ecosystem
from registry.python_options import checked_settings

PYTHON = (Ecosystem.PYPI, Ecosystem.LOCAL, Ecosystem.UPLOAD)
NEWEST = ("", "latest")

_NAME = re.compile(
    r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,198}[A-Za-z0-9])?(?:\[[A-Za-z0-9._,-]{1,100}\])?"
)
_MODULE = re.compile(r"[A-Za-z_]\w{0,99}(?:\.[A-Za-z_]\w{0,99}){0,5}", re.ASCII)


def canonical_name(ecosystem: str, name: str) -> str:
    """Return the one spelling of a package's name: of `Foo_Bar` and `foo-bar` the latter."""
    if ecosystem != Ecosystem.PYPI or not _NAME.fullmatch(name):
        return name
    try:
        asked = Requirement(name)
    except InvalidRequirement:
        return name
    extras = f"[{','.join(sorted(asked.extras))}]" if asked.extras else ""
    return f"{canonicalize_name(asked.name)}{extras}"


def checked_python(
    ecosystem: str,
    name: str,
    version: str,
    settings: JsonObject | None,
    package: Package | None,
    user: User | None,
) -> JsonObject:
    """Check a request and return its settings; without any, those of the package that is here.

    Raises InvalidPackageName, InvalidPackageVersion, InvalidInput, and NotAllowed for a local
    module that somebody asks for who does not govern packages.
    """
    if ecosystem == Ecosystem.LOCAL:
        _check_local(name, version, user)
    elif ecosystem == Ecosystem.PYPI:
        _check_pypi(name, version)
    if settings is None and package is not None:
        return dict(package.settings)
    return checked_settings(settings)


def _check_local(name: str, version: str, user: User | None) -> None:
    if user is not None and not reviews_packages(user):
        raise NotAllowed(
            "Local modules are the operator's: only those who review packages import them.",
            "Ask a reviewer, or publish the module as a package.",
        )
    if not _MODULE.fullmatch(name):
        raise InvalidPackageName(
            f"“{name[:80]}” is not the name of a module.", "Write it as weather or tools.db."
        )
    if version not in NEWEST:
        raise InvalidPackageVersion(
            "A local module has no versions.", "Leave the version empty: the file as it is now."
        )


def _check_pypi(name: str, version: str) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidPackageName(
            f"“{name[:80]}” is not the name of a Python package.",
            "Write it as the index does, such as name or name[extra].",
        )
    try:
        if version[:1] in tuple("<>=!~"):
            SpecifierSet(version)
        elif version not in NEWEST:
            Version(version)
    except (InvalidSpecifier, InvalidVersion):
        raise InvalidPackageVersion(
            f"“{version[:80]}” is not a version of a Python package.",
            "Write 1.2.3, a range such as >=1.2,<2, or leave it empty for the newest.",
        ) from None
