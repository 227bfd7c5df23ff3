"""Files and folders of the artifact store: who owns them, and how they are closed and removed."""

import os
import shutil
import stat
from pathlib import Path

import deno
import uv

from registry.sandbox.paths import readable_by

GUEST = Path(__file__).parent.parent / "guest"
WRITE_BITS = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH

ETC = {
    "passwd": "sandbox:x:65534:65534::/tmp:/nonexistent\n",
    "group": "sandbox:x:65534:\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    "hosts": "127.0.0.1 localhost\n",
    "resolv.conf": "",
}


def lay_out(store: Path, owner: int) -> None:
    """Make the store's folders and copy in what the user `owner` could not read elsewhere.

    `runtime/` stays with whoever starts the service, so that under root the sandboxes' own user
    cannot change what the next sandbox is shown. Builds that were cut off are removed.
    """
    shared = store / "runtime"
    remove_tree(store / "builds")
    for folder in (store, shared, shared / "etc"):
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    for folder in (store / "artifacts", store / "builds"):
        folder.mkdir(mode=0o755, exist_ok=True)
        os.chown(folder, owner, -1)
    for name, text in ETC.items():
        (shared / "etc" / name).write_text(text, encoding="utf-8")
    shutil.copytree(GUEST, shared / "guest", dirs_exist_ok=True)
    _place(installed_deno(), shared / "deno", owner)
    _place(installed_uv(), shared / "uv", owner)
    for path in shared.rglob("*"):
        path.chmod(0o755 if path.is_dir() or path.name in ("deno", "uv") else 0o644)


def installed_deno() -> Path | None:
    """Return Deno's binary of the wheel in `requirements.txt`; None when it is not there."""
    try:
        return Path(deno.find_deno_bin())
    except FileNotFoundError:
        return None


def installed_uv() -> Path | None:
    """Return uv's binary of the wheel in `requirements.txt`; None when it is not there."""
    try:
        return Path(uv.find_uv_bin())
    except FileNotFoundError:
        return None


def find_uv(store: Path) -> Path | None:
    """Return the uv that the service's user can run; None when there is none."""
    copy = store / "runtime" / "uv"
    binary = copy if copy.exists() else installed_uv()
    return binary if binary is not None and os.access(binary, os.X_OK) else None


def _place(binary: Path | None, copy: Path, owner: int) -> None:
    """Copy a binary into the store where the user could not read it otherwise."""
    if binary is None or readable_by(binary, owner):
        copy.unlink(missing_ok=True)
    elif not copy.exists() or copy.stat().st_size != binary.stat().st_size:
        fresh = copy.with_suffix(".new")
        shutil.copyfile(binary, fresh)
        fresh.replace(copy)


def make_read_only(folder: Path) -> None:
    """Take away write permission below `folder`; its own must stay until it is moved."""
    for path in folder.rglob("*"):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~WRITE_BITS)


def tidy_cache(folder: Path, limit: int) -> None:
    """Keep of a cache that a package could write to only plain files, and none beyond `limit`.

    SQLite makes the `-shm` files anew.
    """
    for path in folder.iterdir():
        if path.is_symlink() or not path.is_file() or path.name.endswith("-shm"):
            remove_tree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    if size_of(folder) > limit:
        remove_tree(folder)
        folder.mkdir()


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*"))


def remove_tree(folder: Path) -> None:
    """Remove a folder, of which parts may be read-only; absent is fine."""
    for path, folders, _ in os.walk(folder):
        for name in folders:
            below = Path(path, name)
            if not below.is_symlink():
                below.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
