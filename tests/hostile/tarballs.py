"""Makes packages that no honest tool would pack: npm's tarballs and Python's wheels."""

import base64
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

Content = str | bytes


def npm_tarball(
    files: Mapping[str, Content], links: Sequence[tuple[str, str]] = (), *, hard: bool = False
) -> bytes:
    """Pack files under exactly these names, and links as (name, target)."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o755
            archive.addfile(member, io.BytesIO(data))
        for name, target in links:
            member = tarfile.TarInfo(name)
            member.type = tarfile.LNKTYPE if hard else tarfile.SYMTYPE
            member.linkname = target
            archive.addfile(member)
    return packed.getvalue()


def wheel(
    index: Path,
    name: str,
    files: Mapping[str, Content],
    *,
    links: Sequence[tuple[str, str]] = (),
    record: str | None = None,
    metadata_name: str | None = None,
) -> None:
    """Put a wheel of version 1.0 into a simple index; by default it has the RECORD it should."""
    info = f"{name}-1.0.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {metadata_name or name}\nVersion: 1.0\n"
    whole = {
        **files,
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        lines = [f"{info}/RECORD,,"]
        for path, content in whole.items():
            data = content.encode() if isinstance(content, str) else content
            archive.writestr(path, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{path},sha256={digest},{len(data)}")
        for path, target in links:
            entry = zipfile.ZipInfo(path)
            entry.create_system, entry.external_attr = 3, 0o120777 << 16
            archive.writestr(entry, target)
            lines.append(f"{path},,")
        archive.writestr(f"{info}/RECORD", record or "\n".join(lines) + "\n")
    offer(index, name, f"{name}-1.0-py3-none-any.whl", packed.getvalue())


def source_distribution(index: Path, name: str, setup: str) -> None:
    """Put a source distribution of version 1.0, whose building runs `setup`, into the index."""
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    packed = npm_tarball({f"{name}-1.0/setup.py": setup, f"{name}-1.0/PKG-INFO": metadata})
    offer(index, name, f"{name}-1.0.tar.gz", packed)


def offer(index: Path, name: str, file: str, content: bytes) -> None:
    """Put a file into a simple index (PEP 503), with its hash."""
    folder = index / name.replace("_", "-")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    (folder / "index.html").write_text(f'<a href="{file}#sha256={digest}">{file}</a>')
