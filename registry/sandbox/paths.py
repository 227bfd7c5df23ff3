"""Decide where the sandbox service lives: its socket, its store and its user.

Shared by the service, its client, the supervisor and `manage.py doctor`, so all agree.
"""

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
DEFAULT_UID = 64001
SYSTEM_STORES = Path("/var/lib/outfitter")


@dataclass(frozen=True, slots=True)
class StoreChoice:
    """Where artifacts are kept, and why there."""

    path: Path
    reason: str


def socket_path() -> Path:
    """Return the service's socket: `SANDBOX_SOCKET`, else `var/sandbox/sandboxd.sock`."""
    given = os.environ.get("SANDBOX_SOCKET")
    return Path(given) if given else var_folder(PROJECT) / "sandbox" / "sandboxd.sock"


def var_folder(project: Path) -> Path:
    """Return the folder of what the product keeps: `OUTFITTER_VAR`, else the project's `var/`."""
    return Path(os.environ.get("OUTFITTER_VAR") or project / "var")


def service_uid() -> int:
    """Return the user id sandboxes run as.

    Under root this is `SANDBOX_UID` (default 64001; it needs no passwd entry), because a sandbox
    made by root keeps root's rights over `/proc/sys`. Otherwise it is the user's own.
    """
    if os.geteuid() != 0:
        return os.geteuid()
    return int(os.environ.get("SANDBOX_UID", DEFAULT_UID))


def service_uids() -> frozenset[int]:
    """Return the users a real service can belong to, as the socket's peer shows them.

    The kernel reports who opened the socket: the user that started the service.
    """
    sandbox = int(os.environ.get("SANDBOX_UID", DEFAULT_UID))
    return frozenset({0, os.geteuid(), sandbox})


def choose_store(*, project: Path = PROJECT, uid: int | None = None) -> StoreChoice:
    """Decide the folder of the artifact store for a service that runs as `uid`."""
    given = os.environ.get("SANDBOX_STORE")
    if given:
        return StoreChoice(Path(given), "SANDBOX_STORE says so.")
    uid = service_uid() if uid is None else uid
    beside = var_folder(project) / "sandbox" / "store"
    closed = next(_closed_folders(beside, uid), None)
    if closed is None:
        return StoreChoice(beside, "It is beside the project.")
    digest = hashlib.sha256(os.fsencode(project)).hexdigest()[:12]
    reason = f"The sandbox's user {uid} may not enter {closed}, so it cannot be beside the project."
    return StoreChoice(SYSTEM_STORES / digest, reason)


def readable_by(path: Path, uid: int) -> bool:
    """Say whether user `uid` (with no groups but its own) can reach and read a file."""
    path = path.resolve()
    if next(_closed_folders(path, uid), None):
        return False
    return path.exists() and _allows(path.stat(), uid, stat.S_IROTH)


def _closed_folders(path: Path, uid: int) -> Iterator[Path]:
    for folder in reversed(path.resolve().parents):
        if folder.exists() and not _allows(folder.stat(), uid, stat.S_IXOTH):
            yield folder


def _allows(status: os.stat_result, uid: int, bit: int) -> bool:
    if uid == 0:
        return True
    shift = 6 if status.st_uid == uid else 3 if status.st_gid == uid else 0
    return bool(status.st_mode & (bit << shift))


@contextmanager
def short_address(path: Path) -> Iterator[str]:
    """Give a name for a socket that fits the 107 bytes of a unix address, however deep it lies.

    The folder is opened and named through `/proc/self/fd`; the name holds inside the block only.
    """
    if len(os.fsencode(path)) <= 100:  # noqa: PLR2004 - sun_path, less room for a suffix
        yield str(path)
        return
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
