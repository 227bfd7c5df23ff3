"""Locks between processes, held by the kernel: a process that dies lets go of its own."""

import fcntl
import os
import time
from pathlib import Path


class FileLock:
    """A lock on a file, shared by many holders or held by one alone."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.descriptor: int | None = None  # open while the lock is held

    def try_shared(self) -> bool:
        """Take the lock beside other sharers; False when somebody holds it alone."""
        return self._try(fcntl.LOCK_SH)

    def try_alone(self) -> bool:
        """Take the lock alone; False when anybody holds it."""
        return self._try(fcntl.LOCK_EX)

    def wait_shared(self, seconds: float) -> bool:
        """Take the lock beside other sharers, waiting so long; False when the time is up."""
        return self._wait(fcntl.LOCK_SH, seconds)

    def wait_alone(self, seconds: float) -> bool:
        """Take the lock alone, waiting so long; False when the time is up."""
        return self._wait(fcntl.LOCK_EX, seconds)

    def release(self) -> None:
        """Let go of the lock. Does nothing when it is not held."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None

    def _wait(self, kind: int, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not self._try(kind):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    def _try(self, kind: int) -> bool:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self.release()
        self.descriptor = descriptor
        return True
