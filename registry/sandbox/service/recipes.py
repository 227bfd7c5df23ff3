"""How the packages of one ecosystem become the content of an artifact."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.limits import BUILD_SECONDS
from registry.sandbox.service.profile import Profile, prepare
from registry.sandbox.service.runtime import Runtime
from registry.sandbox.service.spawn import Finished, Sandbox


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a lock says: the exact version, its integrity and a digest of the whole tree."""

    version: str
    integrity: str
    lock_digest: str


class Recipe(Protocol):
    """Resolves and installs the packages of one ecosystem; raises `ServiceError`."""

    language: str
    """Key of `languages.LANGUAGES`."""

    def check_request(self, name: str, version: str) -> None:
        """Refuse what cannot be a package's name and version."""

    def key_parts(self, runtime: Runtime) -> list[str]:
        """Return what of the runtime an artifact depends on."""

    async def resolve(self, runtime: Runtime, folder: Path, name: str, version: str) -> Resolved:
        """Write the project and its lock into `folder`, and return what the lock says."""

    async def install(self, runtime: Runtime, folder: Path, name: str) -> None:
        """Install into `folder` what was resolved there."""

    def manifest(self, folder: Path, name: str) -> dict[str, Any]:
        """Read the installed package's own manifest."""


@runtime_checkable
class Index(Protocol):
    """A recipe whose registry tells which version of a package is the newest."""

    async def newest(
        self, runtime: Runtime, folder: Path, name: str, current: str
    ) -> dict[str, Any]:
        """Return `{newest, current}`, each `{version, integrity, deprecated, install_scripts}`."""


@runtime_checkable
class Fed(Protocol):
    """A recipe whose packages are sent to the service before they are built."""

    def put(self, digest: str, files: Mapping[str, Any]) -> None:
        """Keep files, path → base64, under their digest until they are built."""


@runtime_checkable
class Advised(Protocol):
    """A recipe whose registry may know of weaknesses in what was installed."""

    async def advisories(self, folder: Path) -> dict[str, Any]:
        """Return `{offered, advisories}` of an artifact; see `npm_advisories`."""


@runtime_checkable
class Searchable(Protocol):
    """A recipe whose registry can be searched."""

    async def search(self, text: str, offset: int, size: int) -> dict[str, Any]:
        """Return `{packages: [{name, version, date, keywords}], total}`."""


async def run_installer(runtime: Runtime, profile: Profile, name: str) -> Finished:
    """Run an installer in its sandbox to its end."""
    sandbox = await Sandbox.spawn(prepare(runtime, profile))
    try:
        async with asyncio.timeout(BUILD_SECONDS):
            await sandbox.discard_output()
            return await sandbox.finished()
    except TimeoutError:
        message = f"{name} was not installed within {BUILD_SECONDS:.0f} seconds."
        hint = "The registry may be slow: try again."
        raise ServiceError("registry_unreachable", message, hint) from None
    finally:
        await sandbox.end()


def no_space(message: str) -> ServiceError:
    """Return the error for a full disk."""
    hint = "Free some space, or point SANDBOX_STORE to a larger disk, then try again."
    return ServiceError("storage_full", message, hint)
