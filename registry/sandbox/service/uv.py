"""Resolve and install Python requirements with uv: wheels only, every one by its hash.

A source distribution would run its own code to be built, so none is ever taken.
"""

import hashlib
import re
import shutil
from pathlib import Path

from packaging.utils import canonicalize_name

from registry.sandbox.service import python
from registry.sandbox.service.errors import ServiceError, tail
from registry.sandbox.service.python_index import PythonIndex
from registry.sandbox.service.recipes import Resolved, no_space, run_installer
from registry.sandbox.service.runtime import Runtime

WANTED = "requirements.in"
LOCK = "requirements.lock"
SITE = "site"

_PINNED = re.compile(r"^([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?==([^\s;\\]+)")
_HASH = re.compile(r"--hash=(\w+:[0-9a-f]+)")

# What uv says, in the order in which it is looked for.
NO_SPACE = re.compile(r"No space left on device|os error 28|File too large|os error 27")
BAD_INTEGRITY = re.compile(r"[Hh]ash mismatch|failed to verify hash|no hash")
UNREACHABLE = re.compile(
    r"error sending request|[Cc]onnection refused|dns error|timed out|[Ff]ailed to fetch"
    r"|tcp connect error|HTTP status server error|network connectivity"
)
NO_WHEEL = re.compile(
    r"(?:no usable wheels|no wheels (?:are )?(?:available|with)|has no wheels|"
    r"building from source is disabled|no (?:compatible|matching) wheels?|only has? wheels)",
    re.IGNORECASE,
)
NO_PACKAGE = re.compile(r"[Bb]ecause ([\w.-]+) was not found in the (?:package registry|cache)")
NO_VERSION = re.compile(
    r"there (?:is|are) no versions? of ([\w.-]+?)(?:\[.*?\])?((?:[=<>!~]=?=?[^\s]+)?)(?:\s|,|$)"
)
SPACES = re.compile(r"\s+")


async def lock(
    runtime: Runtime, index: PythonIndex, folder: Path, requirements: str, asked: tuple[str, str]
) -> str:
    """Resolve requirements in `folder` and return the lock; `asked` is (name, version)."""
    (folder / WANTED).write_text(requirements, encoding="utf-8")
    arguments = (
        *("compile", WANTED, "--output-file", LOCK, "--generate-hashes"),
        *("--only-binary", ":all:", "--no-header", "--no-annotate"),
    )
    await _run(runtime, index, folder, arguments, asked)
    return (folder / LOCK).read_text(encoding="utf-8")


async def install(runtime: Runtime, index: PythonIndex, folder: Path, name: str) -> None:
    """Install into `folder/site` exactly what the lock there says."""
    arguments = (
        *("install", "--requirements", LOCK, "--require-hashes", "--no-deps"),
        *("--only-binary", ":all:", "--compile-bytecode", "--link-mode", "copy"),
        *("--target", f"/build/{SITE}"),
    )
    await _run(runtime, index, folder, arguments, (name, ""))


async def _run(
    runtime: Runtime,
    index: PythonIndex,
    folder: Path,
    arguments: tuple[str, ...],
    asked: tuple[str, str],
) -> None:
    profile = python.install(
        runtime,
        arguments,
        folder,
        read_only=index.folders,
        files=index.files,
        environment=index.environment,
    )
    finished = await run_installer(runtime, profile, asked[0])
    shutil.rmtree(folder / ".uv", ignore_errors=True)
    if finished.code != 0:
        raise failure(finished.stderr, *asked)


def read_lock(text: str, name: str) -> Resolved:
    """Read a lock; raises `ServiceError` when a package in it has no hash.

    The integrity is a digest over the hashes that the index states for the version's files.
    """
    wanted = canonicalize_name(name)
    version, hashes = "", list[str]()
    for entry in re.split(r"\n(?=\S)", text.replace("\\\n", " ")):
        pinned = _PINNED.match(entry)
        if pinned is None:
            continue
        found = _HASH.findall(entry)
        if not found:
            message = f"The index gives no hash for {pinned[1]}, so it cannot be trusted."
            raise ServiceError("integrity_mismatch", message, "Use an index that gives one.")
        if canonicalize_name(pinned[1]) == wanted:
            version, hashes = pinned[2], sorted(found)
    digest = hashlib.sha256(text.encode()).hexdigest()
    integrity = hashes[0] if len(hashes) == 1 else _digest_of(hashes)
    return Resolved(version, integrity, digest)


def _digest_of(hashes: list[str]) -> str:
    return "sha256-of-hashes:" + hashlib.sha256("\n".join(hashes).encode()).hexdigest()


def failure(stderr: str, name: str, version: str) -> ServiceError:
    """Say why uv could not resolve or install."""
    said = SPACES.sub(" ", stderr)
    if NO_SPACE.search(said):
        return no_space(f"There was no room to install {name}.")
    if BAD_INTEGRITY.search(said):
        message = f"What the index sent for {name} does not match its hash."
        hint = "Do not use this package until the index's owner has explained it; then try again."
        return ServiceError("integrity_mismatch", message, hint, stderr=tail(stderr))
    if found := NO_PACKAGE.search(said):
        return _no_package(found[1], name)
    if NO_WHEEL.search(said):
        message = f"{name} has no wheel for this machine, or something it needs has none."
        hint = "Packages that have to be built from source are not installed: choose another one."
        return ServiceError("build_failed", message, hint, stderr=tail(stderr))
    if found := NO_VERSION.search(said):
        return _no_version(found[1], found[2], name, version)
    if UNREACHABLE.search(said):
        message = f"The Python package index did not answer while {name} was fetched."
        hint = "Check the network, PIP_INDEX_URL and the proxy settings, then try again."
        return ServiceError("registry_unreachable", message, hint, stderr=tail(stderr))
    message = f"{name} {version}".strip() + " could not be installed."
    hint = "The error output below is the installer's own; mend what it names, then try again."
    return ServiceError("build_failed", message, hint, stderr=tail(stderr))


def _no_package(missing: str, name: str) -> ServiceError:
    if canonicalize_name(missing) == canonicalize_name(name):
        message = f"There is no Python package called {name} in the index."
        hint = "Check the spelling; a private package needs its index in pip's configuration."
        return ServiceError("package_not_found", message, hint)
    message = f"{name} needs {missing}, which the index does not have."
    return ServiceError(
        "build_failed", message, "Tell the package's author, or use another version."
    )


def _no_version(missing: str, wanted: str, name: str, version: str) -> ServiceError:
    if canonicalize_name(missing) == canonicalize_name(name):
        message = f"{name} has no version {version}."
        return ServiceError("version_not_found", message, "Name another, or leave it empty.")
    message = f"{name} needs {missing}{wanted}, which the index does not have."
    return ServiceError(
        "build_failed", message, "Tell the package's author, or use another version."
    )
