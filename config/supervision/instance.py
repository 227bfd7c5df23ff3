"""One `up` per folder."""

import os
from pathlib import Path

from config.embedded.locks import FileLock
from config.embedded.places import lock_file, var_dir
from config.supervision.preflight import NotReadyError


class Instance:
    """The lock of the running `up`, and a note that says where it answers."""

    def __init__(self) -> None:
        self._lock = FileLock(lock_file("up"))

    def claim(self, url: str) -> None:
        """Become the one `up` of this folder. Raises NotReadyError, naming the other."""
        if not self._lock.try_alone():
            raise NotReadyError(
                f"Outfitter already runs from this folder: {_note().read_text().strip()}. "
                "Open that address, or stop it with Ctrl-C in its terminal."
            )
        _note().write_text(f"{url} (process {os.getpid()})\n")

    def release(self) -> None:
        """Let another `up` run."""
        _note().unlink(missing_ok=True)
        self._lock.release()


def running() -> str | None:
    """Return what the running `up` noted, as `http://127.0.0.1:8000 (process 123)`, or None."""
    lock = FileLock(lock_file("up"))
    if lock.try_alone():
        lock.release()
        return None
    return _note().read_text().strip()


def _note() -> Path:
    return var_dir() / "up.txt"
