"""Watch over a run: renew its lease, hear of its cancel, stop steps whose time is up."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connection

from config.lib.patience import AWAY
from sequences.models import Run
from sequences.states import lease_until

logger = logging.getLogger(__name__)

TICK_SECONDS = 0.25
BEATS = 5
"""How often a lease is renewed in the time that it lasts."""


class Watch:
    """What the runner asks, and what the watching thread answers.

    Several steps may be in flight, each with an event of its own that stops it. Once the run is
    cancelled every later attempt starts with its event set.
    """

    def __init__(self, run: Run, outer: threading.Event) -> None:
        self._run_id, self._lease = run.pk, run.lease
        self._outer = outer
        self._over = threading.Event()
        self._cancelled = threading.Event()
        self._orphaned = threading.Event()
        self._lost = threading.Event()
        self._hand_over = threading.Event()
        self._hurry = threading.Event()
        self._lock = threading.Lock()
        self._deadlines: dict[threading.Event, float] = {}

    def is_cancelled(self) -> bool:
        """Tell whether the run is to end, because of its page or of whoever called it."""
        return self._cancelled.is_set() or self._outer.is_set()

    def is_orphaned(self) -> bool:
        """Tell whether the account was closed that the run is for; it then is cancelled, too."""
        return self._orphaned.is_set()

    def is_lost(self) -> bool:
        """Tell whether somebody took the run from this worker; nothing more can be written."""
        return self._lost.is_set()

    def is_handing_over(self) -> bool:
        """Tell whether the run is to be given back to the queue before its next step."""
        return self._hand_over.is_set()

    def pause(self, seconds: float) -> None:
        """Wait before the next attempt; a run that is cancelled or given back waits no longer."""
        self._hurry.wait(seconds)

    @contextmanager
    def attempt(self, timeout_seconds: float) -> Iterator[threading.Event]:
        """Yield an event that is set when the run is cancelled or the time is up."""
        step = threading.Event()
        with self._lock:
            self._deadlines[step] = time.monotonic() + timeout_seconds
            if self.is_cancelled():
                step.set()
        try:
            yield step
        finally:
            with self._lock:
                del self._deadlines[step]

    def _look(self) -> None:
        self._stop_late(time.monotonic())
        if self._outer.is_set():
            self._cancelled.set()
        else:
            self._ask()
        if self._cancelled.is_set() or self._hand_over.is_set() or self._lost.is_set():
            self._hurry.set()
        if self._cancelled.is_set():
            self._stop_late(float("inf"))

    def _stop_late(self, now: float) -> None:
        with self._lock:
            for step, deadline in self._deadlines.items():
                if now >= deadline:
                    step.set()

    def _ask(self) -> None:
        asked = Run.objects.filter(pk=self._run_id, lease=self._lease).values_list(
            "cancel_requested_at", "hand_over", "user__is_active"
        )
        answer = asked.first()
        if answer is None:
            self._lost.set()
            return
        cancelled_at, hand_over, is_active = answer
        if not is_active:
            self._orphaned.set()
        if cancelled_at or not is_active:
            self._cancelled.set()
        if hand_over:
            self._hand_over.set()

    def _beat(self) -> None:
        Run.objects.filter(pk=self._run_id, lease=self._lease).update(lease_until=lease_until())

    def keep_looking(self) -> None:
        """Look until the run is over; this is the body of the watching thread."""
        beaten = time.monotonic()
        try:
            while not self._over.wait(TICK_SECONDS):
                try:
                    self._look()
                    if time.monotonic() - beaten >= settings.RUN_LEASE_SECONDS / BEATS:
                        self._beat()
                        beaten = time.monotonic()
                except AWAY:
                    connection.close()  # the next look opens a new one
                except Exception:  # the boundary: nobody else renews the lease or hears a cancel
                    logger.exception("Run %s could not be looked at", self._run_id)
                    connection.close()
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
