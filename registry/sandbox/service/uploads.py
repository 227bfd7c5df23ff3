"""Modules that were sent to the service: kept under their digest until they have been built."""

import base64
import binascii
import contextlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.limits import MB
from registry.sandbox.service.local import LocalRecipe
from registry.sandbox.service.python_index import PythonIndex
from registry.sandbox.service.recipes import Resolved
from registry.sandbox.service.runtime import Runtime
from registry.sandbox.service.store import remove_tree

MAX_FILES = 200
MAX_BYTES = 2 * MB
KEPT_SECONDS = 86_400.0
DIGEST = re.compile(r"[0-9a-f]{64}")
PART = re.compile(r"\w[\w.+ -]{0,99}", re.ASCII)
MAX_DEPTH = 10


class UploadRecipe:
    """Uploaded modules, built as those of the operator's folder are.

    The version that is asked for is the digest under which the module was sent before.
    """

    language = "python"

    def __init__(self, index: PythonIndex, store: Path) -> None:
        self._index = index
        self._folder = store / "builds" / "uploads"

    def check_request(self, name: str, version: str) -> None:
        """Refuse what is not a module's name and the digest of an upload."""
        self._local("").check_request(name, "")
        if not DIGEST.fullmatch(version):
            message = "An uploaded module is built by its digest."
            raise ServiceError("invalid_package", message, "Upload the module.")

    def key_parts(self, runtime: Runtime) -> list[str]:
        """Return what of the runtime an artifact depends on."""
        return self._local("").key_parts(runtime)

    async def resolve(self, runtime: Runtime, folder: Path, name: str, version: str) -> Resolved:
        """Copy the module, and lock what it requires."""
        if not (self._folder / version).is_dir():
            message = "The uploaded module is not in the sandbox service any more."
            raise ServiceError("artifact_missing", message, "Import it again.")
        return await self._local(version).resolve(runtime, folder, name, "")

    async def install(self, runtime: Runtime, folder: Path, name: str) -> None:
        """Install what the module requires, and note the module's name."""
        await self._local("").install(runtime, folder, name)

    def manifest(self, folder: Path, name: str) -> dict[str, Any]:
        """Return what the module says of itself; see `LocalRecipe.manifest`."""
        return self._local("").manifest(folder, name)

    def put(self, digest: str, files: Mapping[str, Any]) -> None:
        """Keep the files of a module, path → base64, for its build; those of yesterday go."""
        if not DIGEST.fullmatch(digest):
            raise ServiceError("invalid_request", '"digest" must be a SHA-256 in hexadecimal.')
        contents = {_path(path): _content(data) for path, data in files.items()}
        if not contents or len(contents) > MAX_FILES:
            raise ServiceError("invalid_request", f'"files" must hold 1 to {MAX_FILES} files.')
        if sum(map(len, contents.values())) > MAX_BYTES:
            raise ServiceError("invalid_request", f"The files exceed {MAX_BYTES // MB} MB.")
        self._folder.mkdir(exist_ok=True)
        self._tidy()
        fresh = Path(tempfile.mkdtemp(dir=self._folder, prefix="new-"))
        try:
            for path, content in contents.items():
                target = fresh / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            if (self._folder / digest).exists():
                os.utime(self._folder / digest)  # it is wanted again
            else:
                fresh.rename(self._folder / digest)
        except OSError as error:
            if (self._folder / digest).exists():
                return  # the same was sent twice at the same time
            message = f"The module cannot be kept: {error.strerror or 'no room'}."
            raise ServiceError(
                "build_failed", message, "See that no file is a folder too."
            ) from None
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def _local(self, digest: str) -> LocalRecipe:
        return LocalRecipe(self._index, self._folder / digest if digest else None)

    def _tidy(self) -> None:
        limit = time.time() - KEPT_SECONDS
        for path in self._folder.iterdir():
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime < limit:
                    remove_tree(path)


def _path(path: str) -> str:
    parts = path.split("/")
    if len(parts) > MAX_DEPTH or not all(PART.fullmatch(part) for part in parts):
        raise ServiceError("invalid_request", f'"{path[:80]}" cannot be the path of a file.')
    return path


def _content(data: Any) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise ServiceError("invalid_request", "A file's content must be base64.") from None
