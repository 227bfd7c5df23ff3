"""A Python module that somebody uploads: one file, a zip or a wheel, read without running it."""

import ast
import base64
import hashlib
import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import PurePosixPath

from django.contrib.auth.models import User

from config.lib.types import JsonObject
from registry.importing.access import reviews_packages
from registry.importing.errors import InvalidUpload
from registry.models import Package, Upload

MB = 1_000_000
LARGEST_UPLOAD = 2 * MB
"""Bytes, of what is sent and of what is in it."""
MOST_FILES = 200
MOST_ENTRIES = 2_000
DEEPEST = 8
REQUIREMENTS = "requirements.txt"
SUFFIXES = (".py", ".zip", ".whl")

_NAME = re.compile(r"[A-Za-z_]\w{0,99}", re.ASCII)
_PART = re.compile(r"\w[\w.+ -]{0,99}", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{12,64}")
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Other ways may ask for gigabytes of memory before anything is unpacked."""

_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(NotImplementedError, RuntimeError, ValueError, LookupError, OverflowError),
)
"""What zipfile raises for an archive that somebody has damaged."""

_LEFT_OUT = re.compile(
    r"(^|/)(__pycache__|__MACOSX|\.[^./\\][^/]*)(/|$)|\.py[co]$|(^|/)[^/]+\.egg-info/"
)


@dataclass(frozen=True, kw_only=True)
class Module:
    """One top-level module: path → content, each path beginning with the module's name."""

    name: str
    files: Mapping[str, bytes]

    @property
    def digest(self) -> str:
        """Return a SHA-256 over names and contents."""
        whole = hashlib.sha256()
        for path in sorted(self.files):
            whole.update(f"{path}\0{hashlib.sha256(self.files[path]).hexdigest()}\n".encode())
        return whole.hexdigest()


def read_module(content: bytes, filename: str, name: str = "") -> Module:
    """Read what was uploaded; `name` renames a single file. Raises InvalidUpload."""
    filename = PurePosixPath(filename.replace("\\", "/")).name
    suffix = PurePosixPath(filename).suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidUpload(
            f"“{filename[:80]}” is no Python module.", "Send a .py, .zip or .whl file."
        )
    if not content:
        raise InvalidUpload(f"“{filename[:80]}” is empty.")
    if len(content) > LARGEST_UPLOAD:
        raise InvalidUpload(
            f"“{filename[:80]}” has {len(content):,} bytes; at most {LARGEST_UPLOAD:,} fit."
        )
    if suffix == ".py":
        return _single(content, name or PurePosixPath(filename).stem)
    files = _unpacked(content, filename)
    module = _whole(files, wheel=suffix == ".whl")
    if name and name != module.name:
        raise InvalidUpload(
            f"The module in “{filename[:80]}” is called “{module.name}”, not “{name[:80]}”.",
            "Leave the name empty: only a single file can be given another one.",
        )
    return module


def module_keep(module: Module, *, filename: str, user: User | None) -> Upload:
    """Keep a module under its digest; the same one is kept once."""
    encoded = {path: base64.b64encode(data).decode() for path, data in module.files.items()}
    upload, _ = Upload.objects.get_or_create(
        digest=module.digest,
        defaults={
            "name": module.name,
            "filename": filename[-200:],
            "files": encoded,
            "size": sum(map(len, module.files.values())),
            "added_by": user,
        },
    )
    return upload


def upload_of(name: str, version: str, package: Package | None, user: User | None) -> Upload:
    """Return the upload that an import means: by its digest, else the one in use.

    Raises InvalidUpload for one that is not there, or is somebody else's.
    """
    wanted = version or (package.version if package else "")
    if not _DIGEST.fullmatch(wanted):
        raise InvalidUpload(
            f"There is no upload “{version[:64]}” of {name[:80]}.", "Upload the module's file."
        )
    uploads = Upload.objects.filter(name=name, digest__startswith=wanted)
    if package is None and user is not None and not reviews_packages(user):
        uploads = uploads.filter(added_by=user)
    upload = uploads.order_by("-created_at").first()
    if upload is None:
        raise InvalidUpload(
            f"There is no upload “{wanted}” of {name[:80]}.", "Upload the module's file."
        )
    return upload


def check_syntax(upload: Upload) -> None:
    """Raise InvalidUpload that names each file and line that is not Python; nothing is run."""
    problems = []
    for path, data in upload.files.items():
        if path.endswith(".py") and (problem := _problem(path, base64.b64decode(data))):
            problems.append(problem)
    if problems:
        told = "; ".join(f"{item['path']}: {item['message']}" for item in problems[:5])
        raise InvalidUpload(
            f"{upload.filename} cannot be imported: {told}.",
            "Mend the file and upload it again.",
            problems=problems[:50],
        )


def _problem(path: str, content: bytes) -> JsonObject | None:
    try:
        ast.parse(content, filename=path)
    except SyntaxError as error:
        return {"path": f"{path}, line {error.lineno or 1}", "message": str(error.msg)}
    except (ValueError, RecursionError, MemoryError) as error:
        return {"path": path, "message": str(error)[:200] or type(error).__name__}
    return None


def _single(content: bytes, name: str) -> Module:
    _check_name(name)
    return Module(name=name, files={f"{name}.py": content})


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidUpload(
            f"“{name[:80]}” cannot be the name of a Python module.",
            "Use letters, digits and _, not beginning with a digit; say another name.",
        )


def _unpacked(content: bytes, filename: str) -> dict[str, bytes]:
    """Return the plain files of an archive; nothing in it decides where anything is written."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            if len(entries) > MOST_ENTRIES:
                raise InvalidUpload(f"The archive has more than {MOST_ENTRIES} entries.")
            return _read_all(archive, entries)
    except _UNREADABLE as error:
        raise InvalidUpload(f"“{filename[:80]}” is no readable zip archive: {error}.") from None


def _read_all(archive: zipfile.ZipFile, entries: Iterable[zipfile.ZipInfo]) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    left = LARGEST_UPLOAD
    for entry in entries:
        path = _checked_path(entry)
        if not path:
            continue
        with archive.open(entry) as opened:
            data = opened.read(left + 1)  # not what the header promises, but what there is
        left -= len(data)
        if left < 0:
            raise InvalidUpload(f"The archive unpacks to more than {LARGEST_UPLOAD:,} bytes.")
        if path in files:
            raise InvalidUpload(f"The archive has “{path}” twice.")
        files[path] = data
        if len(files) > MOST_FILES:
            raise InvalidUpload(f"The archive has more than {MOST_FILES} files.")
    return files


def _checked_path(entry: zipfile.ZipInfo) -> str:
    """Return the path of a plain file; empty for what is left out. Raises InvalidUpload."""
    name = entry.filename
    if entry.is_dir() or _LEFT_OUT.search(name):
        return ""
    mode = entry.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise InvalidUpload(f"“{name[:80]}” in the archive is a link or no plain file.")
    if entry.compress_type not in _PACKED:
        raise InvalidUpload(
            f"“{name[:80]}” in the archive is packed in an unusual way.", "Zip it anew, by deflate."
        )
    if entry.flag_bits & 1:
        raise InvalidUpload(f"“{name[:80]}” in the archive is encrypted.")
    parts = name.split("/")
    if len(parts) > DEEPEST or not all(_PART.fullmatch(part) for part in parts):
        raise InvalidUpload(
            f"“{name[:80]}” in the archive is a path that is not allowed.",
            "Use plain names inside one folder: letters, digits and . _ + -.",
        )
    return name


def _whole(files: dict[str, bytes], *, wheel: bool) -> Module:
    """Find the one module of an archive, with its requirements in it."""
    about = {path: data for path, data in files.items() if ".dist-info/" in path}
    files = {path: data for path, data in files.items() if path not in about}
    files = files if wheel else _without_folder(files)
    packages = {path.split("/")[0] for path in files if path.endswith("/__init__.py")}
    packages = {name for name in packages if f"{name}/__init__.py" in files}
    singles = {path[:-3] for path in files if path.endswith(".py") and "/" not in path} - {"setup"}
    found = sorted(packages or singles)
    if len(found) != 1:
        told = f"It has {', '.join(found[:10])}." if found else "It has none."
        raise InvalidUpload(
            f"The archive must hold exactly one module or package. {told}",
            "Zip one folder with an __init__.py, or send a single .py file.",
        )
    name = found[0]
    _check_name(name)
    if name in singles and name not in packages:
        return Module(name=name, files={f"{name}.py": files[f"{name}.py"]})
    kept = {path: data for path, data in files.items() if path.startswith(f"{name}/")}
    inside = f"{name}/{REQUIREMENTS}"
    wanted = files.get(REQUIREMENTS) or _wheel_requirements(about)
    if wanted and inside not in kept:
        kept[inside] = wanted
    return Module(name=name, files=kept)


def _without_folder(files: dict[str, bytes]) -> dict[str, bytes]:
    """Take away the one folder that everything is in, unless it is the package itself."""
    tops = {path.split("/")[0] for path in files}
    top = next(iter(tops), "")
    if len(tops) != 1 or top in files or f"{top}/__init__.py" in files:
        return files
    inner = {path.partition("/")[2]: data for path, data in files.items()}
    # Projects with a `src` folder have their package in it.
    source = {p.removeprefix("src/"): d for p, d in inner.items() if p.startswith("src/")}
    return {**inner, **source} if source else inner


def _wheel_requirements(about: Mapping[str, bytes]) -> bytes:
    """Return what a wheel says it requires, but for its extras."""
    metadata = next((d for path, d in about.items() if path.endswith("/METADATA")), b"")
    said = HeaderParser().parsestr(metadata.decode("utf-8", errors="replace"))
    wanted = [line for line in said.get_all("Requires-Dist") or () if "extra ==" not in line]
    return "".join(f"{line}\n" for line in wanted).encode()
