"""Hold a search to its time, in Python and in the database."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock

from django.db import OperationalError, connection, transaction
from psycopg.errors import QueryCanceled

from registry.errors import SearchTimeout

SEARCH_SECONDS = 5.0
"""How long a search may take, the wait for a busy index included."""

_EXCHANGE = (
    "SELECT before.value, set_config('statement_timeout', %s, true)"
    " FROM (SELECT current_setting('statement_timeout') AS value OFFSET 0) AS before"
)
"""`OFFSET 0` has the old value read first."""

_SET = "SELECT set_config('statement_timeout', %s, true)"


class Deadline:
    """The moment at which a search gives up, with `SearchTimeout`."""

    def __init__(self, seconds: float = SEARCH_SECONDS) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Return the seconds that are left, 0 at the least."""
        return max(0.0, self._end - time.monotonic())

    def check(self) -> None:
        """Raise SearchTimeout where the time is over."""
        if not self.left:
            raise self._over()

    @contextmanager
    def holding(self, lock: Lock) -> Iterator[None]:
        """Hold a lock; give up the wait for it when the time is over."""
        if not lock.acquire(timeout=self.left):
            raise self._over()
        try:
            yield
        finally:
            lock.release()

    def wait_for(self, event: Event) -> None:
        """Wait until something has happened; give up when the time is over."""
        if not event.is_set() and not event.wait(self.left):
            raise self._over()

    @contextmanager
    def querying(self) -> Iterator[None]:
        """Have PostgreSQL stop a query within that takes longer than is left.

        The limit ends with the transaction; inside another one it is taken back.
        """
        self.check()
        milliseconds = max(1, round(self.left * 1000))
        is_inside = connection.in_atomic_block
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(_EXCHANGE, [str(milliseconds)])
                before, _ = cursor.fetchone()
                yield
                if is_inside:
                    cursor.execute(_SET, [before])
        except OperationalError as error:
            if isinstance(error.__cause__, QueryCanceled):
                raise self._over() from error
            raise

    def _over(self) -> SearchTimeout:
        return SearchTimeout(f"The search for tools took longer than {self._seconds:g} seconds.")
