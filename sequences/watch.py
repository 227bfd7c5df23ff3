"""Stop the step in flight when its time is up or its run is cancelled."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError, connection
from django.utils import timezone

from sequences.models import Run
from sequences.states import LEASE

TICK_SECONDS = 0.25
HEARTBEAT_SECONDS = LEASE.total_seconds() / 5


class Watch:
    """What the runner asks, and what the watching thread answers.

    `step` is the event that stops the step in flight; each attempt gets a fresh one. Once the run
    is cancelled every later attempt starts with its event set.
    """

    def __init__(self, run: Run, outer: threading.Event) -> None:
        self._run_id, self._lease = run.pk, run.lease
        self._outer = outer
        self._over = threading.Event()
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        self._step: threading.Event | None = None
        self._deadline = 0.0

    def is_cancelled(self) -> bool:
        """Tell whether the run is to end, because of its page or of whoever called it."""
        return self._cancelled.is_set() or self._outer.is_set()

    def pause(self, seconds: float) -> None:
        """Wait before the next attempt; a cancelled run waits no longer."""
        self._cancelled.wait(seconds)

    @contextmanager
    def attempt(self, timeout_seconds: float) -> Iterator[threading.Event]:
        """Yield an event that is set when the run is cancelled or the time is up."""
        step = threading.Event()
        with self._lock:
            self._step, self._deadline = step, time.monotonic() + timeout_seconds
            if self.is_cancelled():
                step.set()
        try:
            yield step
        finally:
            with self._lock:
                self._step = None

    def _look(self) -> None:
        if self._outer.is_set() or self._asked_to_cancel():
            self._cancelled.set()
        with self._lock:
            late = time.monotonic() >= self._deadline
            if self._step is not None and (late or self._cancelled.is_set()):
                self._step.set()

    def _asked_to_cancel(self) -> bool:
        return Run.objects.filter(pk=self._run_id, cancel_requested_at__isnull=False).exists()

    def keep_looking(self) -> None:
        """Look until the run is over; this is the body of the watching thread."""
        beaten = time.monotonic()
        try:
            while not self._over.wait(TICK_SECONDS):
                try:
                    self._look()
                    if time.monotonic() - beaten >= HEARTBEAT_SECONDS:
                        Run.objects.filter(pk=self._run_id, lease=self._lease).update(
                            lease_until=timezone.now() + LEASE
                        )
                        beaten = time.monotonic()
                except DatabaseError:
                    connection.close()  # the next look opens a new one
        finally:
            connection.close()

    def stop(self) -> None:
        """Let the watching thread end."""
        self._over.set()


@contextmanager
def watching(run: Run, outer: threading.Event) -> Iterator[Watch]:
    """Watch over a run for as long as the block lasts; `outer` is its caller's cancel event."""
    watch = Watch(run, outer)
    thread = threading.Thread(target=watch.keep_looking, name=f"watch-{run.pk}", daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        watch.stop()
        thread.join()
