"""Modules of the operator's own: files and folders under `PYTHON_TOOLS_DIR`.

What is imported is a copy, kept under a digest of its content: a change of the file takes effect
when the module is imported again.
"""

import ast
import hashlib
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from registry.sandbox.service import uv
from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.limits import MB
from registry.sandbox.service.pypi import NEWEST
from registry.sandbox.service.python import interpreter_of
from registry.sandbox.service.python_index import PythonIndex
from registry.sandbox.service.python_manifest import OWN, read_own, write_entry
from registry.sandbox.service.recipes import Resolved
from registry.sandbox.service.runtime import Runtime

SETTING = "PYTHON_TOOLS_DIR"
SOURCE = "src"
REQUIREMENTS = "requirements.txt"
NAME = re.compile(r"[A-Za-z_]\w{0,99}(?:\.[A-Za-z_]\w{0,99}){0,5}", re.ASCII)
MAX_FILES = 2_000
MAX_BYTES = 64 * MB
SHORT_DIGEST = 12
# PEP 723: what a single file needs, in a comment of its own.
SCRIPT = re.compile(r"(?m)^# /// script\s*$\s((?:^#(?: .*)?$\s)+?)^# ///\s*$")


def tools_folder() -> Path | None:
    """Return the folder that `PYTHON_TOOLS_DIR` names; None when local modules are off."""
    given = os.environ.get("PYTHON_TOOLS_DIR", "")
    return Path(given).resolve() if given else None


class LocalRecipe:
    """Copies of the operator's modules, with what they require installed by uv."""

    language = "python"

    def __init__(self, index: PythonIndex, folder: Path | None) -> None:
        self._index = index
        self._folder = folder

    def check_request(self, name: str, version: str) -> None:
        """Refuse what is not the dotted name of a module; there is only one version of it."""
        if not NAME.fullmatch(name):
            message = f'"{name[:80]}" is not the name of a module.'
            raise ServiceError("invalid_package", message, 'Write it as "weather" or "tools.db".')
        top = name.split(".", maxsplit=1)[0]
        if top in sys.stdlib_module_names:
            message = f"{top} is a module of Python's standard library."
            raise ServiceError("invalid_package", message, "Give the module another name.")
        if version not in NEWEST and not re.fullmatch(r"[0-9a-f]{12}", version):
            message = "A local module has no versions."
            raise ServiceError("invalid_package", message, "Leave the version empty.")

    def key_parts(self, runtime: Runtime) -> list[str]:
        """Return what of the runtime an artifact depends on."""
        return [interpreter_of(runtime).version, runtime.machine]

    async def resolve(self, runtime: Runtime, folder: Path, name: str, version: str) -> Resolved:
        """Copy the module, and lock what it requires."""
        source = self._source(name)
        copied = folder / SOURCE
        copied.mkdir()
        digest = _copy(source, copied)
        short = digest[:SHORT_DIGEST]
        if version not in (*NEWEST, short):
            message = f"{name} has been changed since: it is {short} now, and was {version}."
            raise ServiceError("version_not_found", message, "Import the module again.")
        wanted = _requirements(copied / source.name)
        lock = ""
        if wanted:
            lock = await uv.lock(runtime, self._index, folder, wanted, (name, ""))
            uv.read_lock(lock, name)  # refuses what has no hash
        lock_digest = hashlib.sha256(f"{digest}\n{lock}".encode()).hexdigest()
        return Resolved(short, f"sha256:{digest}", lock_digest)

    async def install(self, runtime: Runtime, folder: Path, name: str) -> None:
        """Install what the module requires, and note the module's name."""
        if (folder / uv.LOCK).exists():
            await uv.install(runtime, self._index, folder, name)
        (folder / uv.SITE).mkdir(exist_ok=True)
        write_entry(folder, self.manifest(folder, name))

    def manifest(self, folder: Path, name: str) -> dict[str, Any]:
        """Return `{name, description, modules, entries, outfitter}`."""
        source = folder / SOURCE
        return {
            "name": name,
            "description": _summary(source, name),
            "modules": [name.split(".", maxsplit=1)[0]],
            "entries": [{"module": name, "attribute": ""}],
            "outfitter": read_own(source, source / name.split(".", maxsplit=1)[0] / OWN),
        }

    def _source(self, name: str) -> Path:
        if self._folder is None:
            message = "No folder for local modules is set."
            raise ServiceError(
                "invalid_package", message, f"Set {SETTING} and restart the sandbox service."
            )
        if not os.access(self._folder, os.R_OK | os.X_OK):
            message = f"User {os.geteuid()} cannot read {SETTING} ({self._folder})."
            hint = "Let that user read the folder, or move it to one that all users can read."
            raise ServiceError("sandbox_unavailable", message, hint)
        top = self._folder / name.split(".", maxsplit=1)[0]
        for path in (top, top.with_suffix(".py")):
            if path.exists() and path.resolve().is_relative_to(self._folder):
                return path
        there = ", ".join(_offered(self._folder)) or "nothing"
        message = f"There is no module {name} in {self._folder}."
        raise ServiceError("package_not_found", message, f"It has {there}.")


def _offered(folder: Path) -> list[str]:
    names = {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}
    return sorted(name for name in names if NAME.fullmatch(name))[:50]


def _files(source: Path) -> Iterator[Path]:
    """Yield the plain files of a module: no links, no hidden ones, nothing compiled."""
    if source.is_file():
        yield source
        return
    for path, folders, names in os.walk(source):
        folders[:] = sorted(f for f in folders if f != "__pycache__" and not f.startswith("."))
        for name in sorted(names):
            file = Path(path, name)
            if not (name.startswith(".") or file.is_symlink()) and file.is_file():
                yield file


def _copy(source: Path, into: Path) -> str:
    """Copy a module and return the digest of its files' names and contents."""
    digest, total = hashlib.sha256(), 0
    for count, file in enumerate(_files(source)):
        total += file.stat().st_size
        if count == MAX_FILES or total > MAX_BYTES:
            message = f"{source.name} has more than {MAX_FILES} files or {MAX_BYTES // MB} MB."
            raise ServiceError("build_failed", message, "Leave out what the tools do not need.")
        inside = file.relative_to(source.parent)
        target = into / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copyfile(file, target, follow_symlinks=False)
        except PermissionError:
            message = f"User {os.geteuid()} cannot read {inside}."
            raise ServiceError("build_failed", message, "Let that user read the file.") from None
        content = hashlib.sha256(target.read_bytes()).hexdigest()
        digest.update(f"{inside}\0{content}\n".encode())
    return digest.hexdigest()


def _requirements(copied: Path) -> str:
    """Return what a module requires, one requirement a line; only names and versions."""
    if copied.is_dir():
        file = copied / REQUIREMENTS
        lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    else:
        lines = _script_requirements(copied.read_text(encoding="utf-8", errors="replace"))
    wanted = []
    for line in lines:
        text = line.partition(" #")[0].strip()
        if not text or text.startswith("#"):
            continue
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            requirement = None
        if requirement is None or requirement.url:
            message = f"“{text[:80]}” is not a requirement that can be installed here."
            hint = "Write a name and a version, such as httpx>=0.27; no options and no addresses."
            raise ServiceError("build_failed", message, hint)
        wanted.append(str(requirement))
    return "".join(f"{line}\n" for line in wanted)


def _script_requirements(text: str) -> list[str]:
    found = SCRIPT.search(text)
    if found is None:
        return []
    content = "\n".join(line[2:] for line in found[1].splitlines())
    try:
        return [str(item) for item in tomllib.loads(content).get("dependencies", [])]
    except tomllib.TOMLDecodeError as error:
        message = f"The script metadata at the top of the file cannot be read: {error}."
        raise ServiceError("build_failed", message, "See PEP 723 for how to write it.") from None


def _summary(source: Path, name: str) -> str:
    """Return the first line of the module's docstring."""
    path = source.joinpath(*name.split("."))
    for file in (path / "__init__.py", path.with_suffix(".py")):
        if file.is_file():
            try:
                text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
            except (SyntaxError, ValueError, RecursionError):
                return ""
            return text.partition("\n")[0].strip()
    return ""
