"""One `up` per folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from config.embedded.locks import FileLock
from config.embedded.places import lock_file, var_dir
from config.supervision.preflight import NotReadyError


@contextmanager
def only_instance(url: str) -> Iterator[None]:
    """Be the one `up` of this folder, which answers at `url`.

    Raises NotReadyError, naming the other, when one runs already.
    """
    lock = FileLock(lock_file("up"))
    if not lock.try_alone():
        raise NotReadyError(
            f"Outfitter already runs from this folder: {_read_note()}. "
            "Open that address, or stop it with Ctrl-C in its terminal."
        )
    _note().write_text(f"{url} (process {os.getpid()})\n")
    try:
        yield
    finally:
        _note().unlink(missing_ok=True)
        lock.release()


def running() -> str | None:
    """Return what the running `up` noted, as `http://127.0.0.1:8000 (process 123)`, or None."""
    lock = FileLock(lock_file("up"))
    if lock.try_alone():
        lock.release()
        return None
    return _read_note()


def _read_note() -> str:
    try:
        return _note().read_text().strip()
    except FileNotFoundError:
        return "it is just starting"


def _note() -> Path:
    return var_dir() / "up.txt"
