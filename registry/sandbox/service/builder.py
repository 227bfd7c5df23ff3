"""Turn packages into artifacts: read-only folders named after everything they were made from."""

import asyncio
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from registry.sandbox.service import calls
from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.limits import MAX_ARTIFACT_BYTES, MB, MIN_FREE_BYTES
from registry.sandbox.service.recipes import (
    Advised,
    Fed,
    Index,
    Recipe,
    Resolved,
    Searchable,
    no_space,
)
from registry.sandbox.service.runtime import Runtime
from registry.sandbox.service.store import make_read_only, remove_tree, size_of, tidy_cache

# Part of every artifact's key: raise it when the way they are built changes.
BUILDER_VERSION = "2"
BUILDS_AT_ONCE = 2
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

    def __init__(self, store: Path, recipes: Mapping[str, Recipe]) -> None:
        self._artifacts = store / "artifacts"
        self._builds = store / "builds"
        self._recipes = recipes
        self._places = asyncio.Semaphore(BUILDS_AT_ONCE)
        self._under_way: dict[tuple[str, str, str], asyncio.Task[Artifact]] = {}

    def package(self, key: str) -> calls.Package:
        """Return a built package; raises `ServiceError` when the store does not have it."""
        record = self._kept(key)
        return self._package(record["ecosystem"], record["name"], self._artifacts / key)

    async def advisories(self, key: str) -> dict[str, Any]:
        """Return what the registry knows against a built package and all that it needs."""
        recipe = self._recipe(self._kept(key)["ecosystem"])
        if not isinstance(recipe, Advised):
            return {"offered": False, "advisories": []}
        return await recipe.advisories(self._artifacts / key / "pkg")

    def _kept(self, key: str) -> dict[str, Any]:
        if len(key) != hashlib.sha256().digest_size * 2 or not key.isalnum():
            raise ServiceError("artifact_missing", f'"{key[:80]}" is not the key of an artifact.')
        try:
            found = json.loads((self._artifacts / key / RECORD).read_text(encoding="utf-8"))
        except FileNotFoundError:
            message = "The built package is no longer in the artifact store."
            raise ServiceError("artifact_missing", message, "Import the package again.") from None
        record: dict[str, Any] = found
        return record

    def _package(self, ecosystem: str, name: str, folder: Path) -> calls.Package:
        return calls.Package(name, folder, self._recipes[ecosystem].language)

    async def build(self, runtime: Runtime, ecosystem: str, name: str, version: str) -> Artifact:
        """Return the artifact of a package, building it when the store does not have it."""
        self._recipe(ecosystem).check_request(name, version)
        request = (ecosystem, name, version)
        task = self._under_way.get(request)
        if task is None:
            task = asyncio.create_task(self._build(runtime, *request))
            self._under_way[request] = task
            task.add_done_callback(lambda _: self._under_way.pop(request, None))
        # Whoever stops waiting does not stop the build for the others.
        return await asyncio.shield(task)

    async def search(self, ecosystem: str, query: str, offset: int, size: int) -> dict[str, Any]:
        """Return one page of what the registry of an ecosystem finds."""
        recipe = self._recipe(ecosystem)
        if not isinstance(recipe, Searchable):
            message = f'The registry of "{ecosystem}" cannot be searched.'
            raise ServiceError("registry_no_search", message, "Import packages by their names.")
        return await recipe.search(query, offset, size)

    async def put(self, ecosystem: str, digest: str, files: Mapping[str, Any]) -> None:
        """Keep what is to be built next."""
        recipe = self._recipe(ecosystem)
        if not isinstance(recipe, Fed):
            raise ServiceError("invalid_package", f'Packages of "{ecosystem}" are not uploaded.')
        await asyncio.to_thread(recipe.put, digest, files)

    async def newest(
        self, runtime: Runtime, ecosystem: str, name: str, current: str
    ) -> dict[str, Any]:
        """Return what the registry says of a package's newest and its present version."""
        recipe = self._recipe(ecosystem)
        recipe.check_request(name, "latest")
        if not isinstance(recipe, Index):
            message = f'Packages of "{ecosystem}" have no newest version.'
            raise ServiceError("invalid_package", message)
        async with self._places:
            scratch = Path(tempfile.mkdtemp(dir=self._builds))
            try:
                return await recipe.newest(runtime, scratch, name, current)
            except OSError as error:
                raise no_space(f"{name} could not be resolved: {error}.") from error
            finally:
                remove_tree(scratch)

    def _recipe(self, ecosystem: str) -> Recipe:
        recipe = self._recipes.get(ecosystem)
        if recipe is None:
            known = ", ".join(sorted(self._recipes))
            message = f'Packages of "{ecosystem}" cannot be built.'
            raise ServiceError("invalid_package", message, f"Choose one of: {known}.")
        return recipe

    def under_way(self) -> list[dict[str, str]]:
        """Return `{ecosystem, name, version}` of each build that has not ended."""
        names = ("ecosystem", "name", "version")
        return [dict(zip(names, request, strict=True)) for request in self._under_way]

    def older_than(self, seconds: float) -> list[str]:
        """Return the artifacts that were last built or asked for so long ago."""
        limit = time.time() - seconds
        records = self._artifacts.glob(f"*/{RECORD}")
        return [path.parent.name for path in records if path.stat().st_mtime <= limit]

    async def remove(self, key: str) -> int:
        """Remove an artifact at once, its files bit by bit; returns the bytes it took."""
        size = self._record(key).size_bytes
        folder, doomed = self._artifacts / key, self._builds / f"removed-{key}"
        folder.chmod(0o755)
        folder.rename(doomed)
        await asyncio.to_thread(remove_tree, doomed)
        return size

    async def close(self) -> None:
        """Stop all builds and wait until they have cleaned up."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _build(self, runtime: Runtime, ecosystem: str, name: str, version: str) -> Artifact:
        async with self._places:
            return await self._build_now(runtime, ecosystem, name, version)

    async def _build_now(
        self, runtime: Runtime, ecosystem: str, name: str, version: str
    ) -> Artifact:
        self._check_space()
        recipe = self._recipes[ecosystem]
        scratch = Path(tempfile.mkdtemp(dir=self._builds))
        try:
            folder = scratch / "pkg"
            for path in (folder, scratch / "cache"):
                path.mkdir()
            resolved = await recipe.resolve(runtime, folder, name, version)
            key = _key(ecosystem, name, resolved, recipe.key_parts(runtime))
            if (self._artifacts / key).exists():
                os.utime(self._artifacts / key / RECORD)  # it is wanted: not yet for `collect`
                return self._record(key)
            await recipe.install(runtime, folder, name)
            return await self._publish(runtime, scratch, key, ecosystem, name, resolved)
        except OSError as error:
            raise no_space(f"The artifact of {name} could not be written: {error}.") from error
        finally:
            remove_tree(scratch)

    def _check_space(self) -> None:
        free = shutil.disk_usage(self._builds).free
        if free < MIN_FREE_BYTES:
            message = f"Only {free // MB} MB are free where packages are built."
            raise no_space(message)

    async def _publish(
        self,
        runtime: Runtime,
        scratch: Path,
        key: str,
        ecosystem: str,
        name: str,
        resolved: Resolved,
    ) -> Artifact:
        size = size_of(scratch)
        if size > MAX_ARTIFACT_BYTES:
            message = (
                f"{name} takes {size // MB} MB installed; {MAX_ARTIFACT_BYTES // MB} are allowed."
            )
            raise ServiceError("build_failed", message, "Use a smaller package.")
        artifact = Artifact(
            ecosystem=ecosystem,
            name=name,
            version=resolved.version,
            integrity=resolved.integrity,
            artifact=key,
            manifest=self._recipes[ecosystem].manifest(scratch / "pkg", name),
            size_bytes=size,
        )
        (scratch / RECORD).write_text(json.dumps(asdict(artifact)), encoding="utf-8")
        await calls.warm(runtime, self._package(ecosystem, name, scratch))
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


def _key(ecosystem: str, name: str, resolved: Resolved, runtime: list[str]) -> str:
    parts = [ecosystem, name, resolved.version, resolved.lock_digest, *runtime, BUILDER_VERSION]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
