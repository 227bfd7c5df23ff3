"""Resolve and install npm packages with Deno, from the registry the operator's client uses.

Lifecycle scripts stay off (Deno's default), every package must carry an integrity in the lock,
and the install is frozen to that lock.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from registry.sandbox.service import javascript
from registry.sandbox.service.errors import ServiceError, tail
from registry.sandbox.service.limits import MB
from registry.sandbox.service.npm_advisories import advisories, locked_packages
from registry.sandbox.service.npm_asking import NpmRegistry
from registry.sandbox.service.recipes import Resolved, no_space, run_installer
from registry.sandbox.service.runtime import Runtime
from registry.sandbox.service.wire import Violation, parse_json

NAME = re.compile(r"(@[a-z0-9~][a-z0-9._~-]{0,100}/)?[a-z0-9~][a-z0-9._~-]{0,200}", re.IGNORECASE)
# Versions, ranges and tags; no `file:`, `git+…` or addresses.
VERSION = re.compile(r"[\w.+~^<>=|* -]{1,100}")

MAX_MANIFEST_BYTES = MB

CA_VARIABLES = ("DENO_CERT", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "PIP_CERT")
PASSED_VARIABLES = (
    *("NPM_CONFIG_REGISTRY", "NPM_CONFIG_MIN_RELEASE_AGE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "no_proxy", "DENO_TLS_CA_STORE"),
)
ENTRY = 'export const load = () => import("{name}");\n'

# What Deno says, in the order in which it is looked for.
UNREACHABLE = re.compile(
    r"error sending request|tcp connect error|dns error|timed out|(status|HTTP).*5\d\d"
)
NO_PACKAGE = re.compile(r"npm package '(.+)' does not exist")
NO_VERSION = re.compile(r"Could not find npm package '(.+)' matching '(.+)'")
TOO_NEW = re.compile(r"newer than the specified minimum dependency date")
BAD_INTEGRITY = re.compile(r"checksum did not match|[Ii]ntegrity check failed")
NO_SPACE = re.compile(r"No space left on device|os error 28|File too large|os error 27")


@dataclass(frozen=True, slots=True)
class Registry:
    """How to reach the registry: the operator's npm configuration, CA bundle and proxy."""

    npmrc: bytes
    certificates: bytes
    environment: Mapping[str, str]

    @property
    def files(self) -> dict[str, bytes]:
        """The files to show to the build, by their path inside."""
        shown = {"/home/.npmrc": self.npmrc, "/ca.pem": self.certificates}
        return {path: content for path, content in shown.items() if content}

    @property
    def variables(self) -> dict[str, str]:
        """The environment of the build."""
        return dict(self.environment) | ({"DENO_CERT": "/ca.pem"} if self.certificates else {})


def registry_of_operator(environment: Mapping[str, str] | None = None) -> Registry:
    """Read the registry settings as the ordinary client would.

    `NPM_CONFIG_USERCONFIG` or `~/.npmrc` (with `${VARIABLE}` filled in), `NPM_CONFIG_REGISTRY`,
    the proxy variables and the CA bundles named in the environment. Call it before dropping
    root: later the files may not be readable.
    """
    env = os.environ if environment is None else environment
    lowered = {name.upper() if name.startswith("npm_") else name: env[name] for name in env}
    npmrc = Path(lowered.get("NPM_CONFIG_USERCONFIG") or Path(env.get("HOME", "/")) / ".npmrc")
    bundles = {env[name]: None for name in CA_VARIABLES if env.get(name)}
    return Registry(
        npmrc=_filled_in(_read(npmrc), env),
        certificates=b"\n".join(filter(None, (_read(Path(path)) for path in bundles))),
        environment={name: lowered[name] for name in PASSED_VARIABLES if lowered.get(name)},
    )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _filled_in(npmrc: bytes, env: Mapping[str, str]) -> bytes:
    def value(match: re.Match[bytes]) -> bytes:
        return env.get(match[1].decode(), match[0].decode()).encode()

    return re.sub(rb"\$\{(\w+)\}", value, npmrc)


def check_request(name: str, version: str) -> None:
    """Refuse what is not the name of a registry package and a version, range or tag of it."""
    if not NAME.fullmatch(name):
        message = f'"{name}" is not the name of an npm package.'
        raise ServiceError("invalid_package", message, 'Write it as "name" or "@scope/name".')
    if not VERSION.fullmatch(version):
        message = f'"{version}" is not a version of an npm package.'
        raise ServiceError("invalid_package", message, 'Write "1.2.3", "^1.2" or "latest".')


def write_project(build: Path, name: str, version: str) -> None:
    """Write what Deno installs from and what the worker imports."""
    project = {"private": True, "type": "module", "dependencies": {name: version}}
    (build / "package.json").write_text(json.dumps(project), encoding="utf-8")
    (build / "entry.mjs").write_text(ENTRY.format(name=name), encoding="utf-8")


def read_lock(lock: Path, name: str) -> Resolved:
    """Read Deno's lock file; raises `ServiceError` when a package in it has no integrity."""
    content = json.loads(lock.read_text(encoding="utf-8"))
    packages = content.get("npm", {})
    prefix = f"npm:{name}@"
    chosen = next(v for k, v in content["specifiers"].items() if k.startswith(prefix))
    for key, entry in packages.items():
        if not str(entry.get("integrity", "")).startswith(
            ("sha512-", "sha384-", "sha256-", "sha1-")
        ):
            message = f"The registry gives no integrity for {key}, so it cannot be trusted."
            raise ServiceError("integrity_mismatch", message, "Use a registry that gives one.")
    digest = hashlib.sha256(json.dumps(packages, sort_keys=True).encode()).hexdigest()
    # "0.1.0_zod@4.6.7" is version 0.1.0, with the peer it was resolved for.
    return Resolved(chosen.split("_")[0], packages[f"{name}@{chosen}"]["integrity"], digest)


def failure(stderr: str, name: str, version: str) -> ServiceError:
    """Say why Deno could not resolve or install a package."""
    if NO_SPACE.search(stderr):
        return no_space(f"There was no room to install {name}.")
    if BAD_INTEGRITY.search(stderr):
        message = f"What the registry sent for {name} does not match its integrity."
        hint = (
            "Do not use this package until the registry's owner has explained it; then try again."
        )
        return ServiceError("integrity_mismatch", message, hint)
    if TOO_NEW.search(stderr):
        message = f"{name}@{version}, or something it needs, was published only just now."
        hint = (
            "What is younger than a day is not installed, as attacks are mostly found by then: try "
            "again later, or set min-release-age=0 in ~/.npmrc for a registry of your own."
        )
        return ServiceError("version_too_new", message, hint)
    if found := NO_VERSION.search(stderr):
        return _no_version(found[1], found[2], name, version)
    if found := NO_PACKAGE.search(stderr):
        return _no_package(found[1], name)
    if UNREACHABLE.search(stderr):
        message = f"The npm registry did not answer while {name} was fetched."
        hint = "Check the network, NPM_CONFIG_REGISTRY and the proxy settings, then try again."
        return ServiceError("registry_unreachable", message, hint, stderr=tail(stderr))
    message = f"{name}@{version} could not be installed."
    hint = "The error output below is the installer's own; mend what it names, then try again."
    return ServiceError("build_failed", message, hint, stderr=tail(stderr))


def _no_package(missing: str, name: str) -> ServiceError:
    if missing == name:
        message = f"There is no npm package called {name} in the registry."
        hint = "Check the spelling; a private package needs its registry in ~/.npmrc."
        return ServiceError("package_not_found", message, hint)
    message = f"{name} needs {missing}, which the registry does not have."
    return ServiceError(
        "build_failed", message, "Tell the package's author, or use another version."
    )


def _no_version(missing: str, asked: str, name: str, version: str) -> ServiceError:
    if missing == name:
        message = f"{name} has no version {version}."
        return ServiceError("version_not_found", message, 'Name another, or leave it at "latest".')
    message = f"{name} needs {missing} {asked}, which the registry does not have."
    return ServiceError(
        "build_failed", message, "Tell the package's author, or use another version."
    )


def _manifest(folder: Path, name: str) -> dict[str, Any]:
    """Read the package's own package.json, which must be a plain file of the build."""
    path = (folder / "node_modules" / name / "package.json").resolve()
    message = f"The package.json of {name} cannot be read."
    refusal = ServiceError("build_failed", message, "Tell the package's author.")
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        raise refusal
    if path.stat().st_size > MAX_MANIFEST_BYTES:
        raise refusal
    try:
        manifest = parse_json(path.read_bytes())
    except Violation:
        raise refusal from None
    if not isinstance(manifest, dict):
        raise refusal
    return manifest


class NpmRecipe:
    """npm packages, installed by Deno."""

    language = "javascript"

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._asked = NpmRegistry(registry.npmrc, registry.certificates, registry.environment)

    async def search(self, text: str, offset: int, size: int) -> dict[str, Any]:
        """Return one page of what the registry finds; see `NpmRegistry.search`."""
        return await self._asked.search(text, offset, size)

    async def newest(
        self, _runtime: Runtime, _folder: Path, name: str, current: str
    ) -> dict[str, Any]:
        """Return what the registry says of a package's newest and its present version."""
        return await self._asked.newest(name, current)

    async def advisories(self, folder: Path) -> dict[str, Any]:
        """Return what the registry knows against the locked packages; see `npm_advisories`."""
        return await advisories(self._asked, locked_packages(folder / "deno.lock"))

    def check_request(self, name: str, version: str) -> None:
        """Refuse what cannot be a package's name and version."""
        check_request(name, version)

    def key_parts(self, runtime: Runtime) -> list[str]:
        """Return what of the runtime an artifact depends on."""
        return [runtime.deno_version, runtime.machine]

    async def resolve(self, runtime: Runtime, folder: Path, name: str, version: str) -> Resolved:
        """Write the project and Deno's lock."""
        write_project(folder, name, version)
        await self._deno(runtime, ("--lockfile-only",), folder, name, version)
        return read_lock(folder / "deno.lock", name)

    async def install(self, runtime: Runtime, folder: Path, name: str) -> None:
        """Install exactly what the lock says, without lifecycle scripts."""
        await self._deno(runtime, ("--frozen",), folder, name, "the locked version")
        shutil.rmtree(folder / ".deno")

    def manifest(self, folder: Path, name: str) -> dict[str, Any]:
        """Return package.json."""
        return _manifest(folder, name)

    async def _deno(
        self, runtime: Runtime, arguments: tuple[str, ...], folder: Path, name: str, version: str
    ) -> None:
        settings = self._registry
        profile = javascript.install(arguments, folder, settings.files, settings.variables)
        finished = await run_installer(runtime, profile, name)
        if finished.code != 0:
            raise failure(finished.stderr, name, version)
