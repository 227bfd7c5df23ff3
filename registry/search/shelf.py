"""The place on disk where the processes of one machine keep the index for those that start."""

import fcntl
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from django.db import connection

from registry.search.position import cluster_of, position_now
from registry.search.reader import Reader
from registry.search.snapshot import SnapshotUnusable, read_snapshot, write_snapshot
from registry.search.stored import fits_of, reader_of, snapshot_of

logger = logging.getLogger(__name__)

KEEP_SECONDS = 600.0
"""How often it is written at most, while tools change."""


class Shelf:
    """One file, written by whichever process finds it missing or old."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._looked_at = 0.0

    @property
    def path(self) -> Path:
        """Return the file of this process's database."""
        return self._folder / f"{quote(str(connection.settings_dict['NAME']), safe='')}.index"

    def taken(self) -> Reader | None:
        """Return what is kept, or None where nothing is that is of use."""
        cluster = _cluster()
        if not cluster or not self.path.exists():
            return None
        started = time.perf_counter()
        tables = position_now().tables
        try:
            reader = reader_of(read_snapshot(self.path, fits_of(cluster, tables)), tables)
        except (SnapshotUnusable, OSError) as problem:
            logger.warning("%s is not used, and written anew: %s", self.path, problem)
            return None
        self._looked_at = time.monotonic()
        took = time.perf_counter() - started
        logger.info("Loaded %d tools into the search index in %.1f s", len(reader.replica), took)
        return reader

    def keep(self, reader: Reader) -> None:
        """Write what a reader holds, where the file does not fit it or is old."""
        now = time.monotonic()
        if self._looked_at and (not reader.changed or now - self._looked_at < KEEP_SECONDS):
            return
        self._looked_at = now
        if not (cluster := _cluster()):
            return
        try:
            with self._claimed() as is_ours:
                if is_ours and not self._is_fresh(reader, cluster):
                    write_snapshot(self.path, snapshot_of(reader, cluster))
                    reader.changed = 0
        except OSError as problem:
            logger.warning("The search index could not be kept: %s", problem)

    def _is_fresh(self, reader: Reader, cluster: str) -> bool:
        """Say whether another process has just written the same."""
        try:
            age = time.time() - self.path.stat().st_mtime
            if reader.changed and age > KEEP_SECONDS:
                return False
            read_snapshot(self.path, fits_of(cluster, reader.position.tables))
        except (SnapshotUnusable, OSError):
            return False
        return True

    @contextmanager
    def _claimed(self) -> Iterator[bool]:
        """Say whether this process may write; the system frees what a dead one has claimed."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True


def _cluster() -> str:
    told = connection.settings_dict
    return cluster_of(f"{told['HOST']}:{told['PORT']}")
