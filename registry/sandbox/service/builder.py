"""Turn packages into artifacts: read-only folders named after everything they were made from."""

import asyncio
import hashlib
import json
import shutil
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from registry.sandbox.service import calls, javascript, npm
from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.limits import BUILD_SECONDS, MAX_ARTIFACT_BYTES, MB, MIN_FREE_BYTES
from registry.sandbox.service.profile import prepare
from registry.sandbox.service.runtime import Runtime
from registry.sandbox.service.spawn import Sandbox
from registry.sandbox.service.store import make_read_only, remove_tree, size_of, tidy_cache
from registry.sandbox.service.wire import Violation, parse_json

# Part of every artifact's key: raise it when the way they are built changes.
BUILDER_VERSION = "1"
BUILDS_AT_ONCE = 2
MAX_MANIFEST_BYTES = MB
MAX_CACHE_BYTES = 32 * MB
RECORD = "artifact.json"


@dataclass(frozen=True, slots=True)
class Artifact:
    """What is known of a built package; the wire shape of the `build` method."""

    ecosystem: str
    name: str
    version: str
    integrity: str
    artifact: str
    manifest: dict[str, Any] = field(repr=False)
    size_bytes: int


class Builder:
    """Builds each artifact once, however many ask for it at the same time."""

    def __init__(self, store: Path, registry: npm.Registry) -> None:
        self._artifacts = store / "artifacts"
        self._builds = store / "builds"
        self._registry = registry
        self._places = asyncio.Semaphore(BUILDS_AT_ONCE)
        self._under_way: dict[tuple[str, str], asyncio.Task[Artifact]] = {}

    def package(self, key: str) -> calls.Package:
        """Return a built package; raises `ServiceError` when the store does not have it."""
        folder = self._artifacts / key
        if len(key) != hashlib.sha256().digest_size * 2 or not key.isalnum():
            raise ServiceError("artifact_missing", f'"{key[:80]}" is not the key of an artifact.')
        try:
            record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        except FileNotFoundError:
            message = "The built package is no longer in the artifact store."
            raise ServiceError("artifact_missing", message, "Import the package again.") from None
        return calls.Package(record["name"], folder)

    async def build(self, runtime: Runtime, ecosystem: str, name: str, version: str) -> Artifact:
        """Return the artifact of a package, building it when the store does not have it."""
        if ecosystem != "npm":
            message = f'Packages of "{ecosystem}" cannot be built.'
            raise ServiceError("invalid_package", message, "Only npm packages can, so far.")
        npm.check_request(name, version)
        task = self._under_way.get((name, version))
        if task is None:
            task = asyncio.create_task(self._build(runtime, name, version))
            self._under_way[name, version] = task
            task.add_done_callback(lambda _: self._under_way.pop((name, version), None))
        # Whoever stops waiting does not stop the build for the others.
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Stop all builds and wait until they have cleaned up."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _build(self, runtime: Runtime, name: str, version: str) -> Artifact:
        async with self._places:
            return await self._build_now(runtime, name, version)

    async def _build_now(self, runtime: Runtime, name: str, version: str) -> Artifact:
        self._check_space()
        scratch = Path(tempfile.mkdtemp(dir=self._builds))
        try:
            package = scratch / "pkg"
            for folder in (package, scratch / "cache"):
                folder.mkdir()
            npm.write_project(package, name, version)
            await self._deno_install(runtime, ("--lockfile-only",), package, name, version)
            resolved = npm.read_lock(package / "deno.lock", name)
            key = _key(runtime, name, resolved)
            if (self._artifacts / key).exists():
                return self._record(key)
            await self._deno_install(runtime, ("--frozen",), package, name, version)
            shutil.rmtree(package / ".deno")
            return await self._publish(runtime, scratch, key, name, resolved)
        except OSError as error:
            raise npm.no_space(f"The artifact of {name} could not be written: {error}.") from error
        finally:
            remove_tree(scratch)

    def _check_space(self) -> None:
        free = shutil.disk_usage(self._builds).free
        if free < MIN_FREE_BYTES:
            message = f"Only {free // MB} MB are free where packages are built."
            raise npm.no_space(message)

    async def _deno_install(
        self, runtime: Runtime, arguments: tuple[str, ...], package: Path, name: str, version: str
    ) -> None:
        settings = self._registry
        profile = javascript.install(arguments, package, settings.files, settings.variables)
        sandbox = await Sandbox.spawn(prepare(runtime, profile))
        try:
            async with asyncio.timeout(BUILD_SECONDS):
                await sandbox.discard_output()
                finished = await sandbox.finished()
        except TimeoutError:
            message = f"{name} was not installed within {BUILD_SECONDS:.0f} seconds."
            hint = "The registry may be slow: try again."
            raise ServiceError("registry_unreachable", message, hint) from None
        finally:
            await sandbox.end()
        if finished.code != 0:
            raise npm.failure(finished.stderr, name, version)

    async def _publish(
        self, runtime: Runtime, scratch: Path, key: str, name: str, resolved: npm.Resolved
    ) -> Artifact:
        size = size_of(scratch)
        if size > MAX_ARTIFACT_BYTES:
            message = (
                f"{name} takes {size // MB} MB installed; {MAX_ARTIFACT_BYTES // MB} are allowed."
            )
            raise ServiceError("build_failed", message, "Use a smaller package.")
        artifact = Artifact(
            ecosystem="npm",
            name=name,
            version=resolved.version,
            integrity=resolved.integrity,
            artifact=key,
            manifest=_manifest(scratch, name),
            size_bytes=size,
        )
        (scratch / RECORD).write_text(json.dumps(asdict(artifact)), encoding="utf-8")
        await calls.warm(runtime, calls.Package(name, scratch))
        tidy_cache(scratch / "cache", MAX_CACHE_BYTES)
        make_read_only(scratch)
        try:
            scratch.rename(self._artifacts / key)
        except FileExistsError:
            return self._record(key)
        (self._artifacts / key).chmod(0o555)
        return artifact

    def _record(self, key: str) -> Artifact:
        text = (self._artifacts / key / RECORD).read_text(encoding="utf-8")
        return Artifact(**json.loads(text))


def _manifest(scratch: Path, name: str) -> dict[str, Any]:
    """Read the package's own package.json, which must be a plain file of the build."""
    path = (scratch / "pkg" / "node_modules" / name / "package.json").resolve()
    message = f"The package.json of {name} cannot be read."
    refusal = ServiceError("build_failed", message, "Tell the package's author.")
    if not path.is_relative_to(scratch.resolve()) or path.stat().st_size > MAX_MANIFEST_BYTES:
        raise refusal
    try:
        manifest = parse_json(path.read_bytes())
    except Violation:
        raise refusal from None
    if not isinstance(manifest, dict):
        raise refusal
    return manifest


def _key(runtime: Runtime, name: str, resolved: npm.Resolved) -> str:
    parts = ["npm", name, resolved.version, resolved.lock_digest]
    parts += [runtime.deno_version, runtime.machine, BUILDER_VERSION]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
