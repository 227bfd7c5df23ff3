"""Packages of PyPI, or of the index that the operator's pip uses."""

import re
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from registry.sandbox.service import uv
from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.python import interpreter_of
from registry.sandbox.service.python_index import PythonIndex
from registry.sandbox.service.python_manifest import installed_manifest, write_entry
from registry.sandbox.service.recipes import Resolved
from registry.sandbox.service.runtime import Runtime

NAME = re.compile(
    r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,198}[A-Za-z0-9])?(?:\[[A-Za-z0-9._,-]{1,100}\])?"
)
NEWEST = ("", "latest")


def check_request(name: str, version: str) -> None:
    """Refuse what is not a name (PEP 508, with extras) and a version or range (PEP 440) of it."""
    if not NAME.fullmatch(name):
        message = f'"{name[:80]}" is not the name of a Python package.'
        raise ServiceError("invalid_package", message, 'Write it as "name" or "name[extra]".')
    requirement(name, version)


def requirement(name: str, version: str) -> str:
    """Return the requirement for a version, a range, or the newest."""
    try:
        return str(Requirement(f"{name}{_specifier(version)}"))
    except (InvalidRequirement, InvalidSpecifier, InvalidVersion):
        message = f'"{version[:80]}" is not a version of a Python package.'
        raise ServiceError(
            "invalid_package", message, 'Write "1.2.3", ">=1.2,<2", or leave it empty.'
        ) from None


def _specifier(version: str) -> str:
    if version in NEWEST:
        return ""
    if version[:1] in "<>=!~":
        return str(SpecifierSet(version))
    return f"=={Version(version)}"


class PypiRecipe:
    """Python packages of an index, installed by uv."""

    language = "python"

    def __init__(self, index: PythonIndex) -> None:
        self._index = index

    def check_request(self, name: str, version: str) -> None:
        """Refuse what cannot be a package's name and version."""
        check_request(name, version)

    def key_parts(self, runtime: Runtime) -> list[str]:
        """Return what of the runtime an artifact depends on."""
        return [interpreter_of(runtime).version, runtime.machine]

    async def resolve(self, runtime: Runtime, folder: Path, name: str, version: str) -> Resolved:
        """Write uv's lock."""
        wanted = requirement(name, version)
        lock = await uv.lock(runtime, self._index, folder, f"{wanted}\n", (name, version))
        return uv.read_lock(lock, Requirement(name).name)

    async def install(self, runtime: Runtime, folder: Path, name: str) -> None:
        """Install exactly what the lock says, and note which module has the tools."""
        await uv.install(runtime, self._index, folder, name)
        write_entry(folder, installed_manifest(folder / uv.SITE, Requirement(name).name))

    def manifest(self, folder: Path, name: str) -> dict[str, Any]:
        """Return what the package says of itself; see `python_manifest`."""
        return installed_manifest(folder / uv.SITE, Requirement(name).name)

    async def newest(
        self, runtime: Runtime, folder: Path, name: str, _current: str
    ) -> dict[str, Any]:
        """Return the newest version that could be installed.

        Of the present one nothing is said: an index may add files to a version at any time.
        """
        resolved = await self.resolve(runtime, folder, name, "")
        newest = {"version": resolved.version, "integrity": resolved.integrity}
        return {"newest": newest, "current": {}}
