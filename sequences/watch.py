"""Watch over runs: renew their leases, hear of their cancel, stop steps whose time is up."""

import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from django.conf import settings
from django.db import connection

from config.lib.patience import AWAY
from sequences.models import Run
from sequences.states import lease_until

logger = logging.getLogger(__name__)

TICK_SECONDS = 0.25
BEATS = 5
"""How often a lease is renewed in the time that it lasts."""

LINGER_SECONDS = 10
"""How long the watching thread stays when there is no run."""

Answer = tuple[datetime | None, bool, bool]
"""When the cancel of a run was asked for, whether it is to be handed over, and whether the account
that it is for is open."""


class Watch:
    """What the runner asks, and what the watching thread answers.

    Several steps may be in flight, each with an event of its own that stops it. Once the run is
    cancelled every later attempt starts with its event set.
    """

    def __init__(self, run: Run, outer: threading.Event) -> None:
        self.run_id, self.lease = run.pk, run.lease
        self.has_beaten(time.monotonic())
        self._outer = outer
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

    def tick(self, now: float) -> None:
        """Stop the steps whose time is up, and all of them when the caller has given up."""
        self._stop_late(now)
        if self._outer.is_set():
            self._cancel()

    def is_due(self, now: float) -> bool:
        """Tell whether the lease wants to be renewed."""
        return now >= self._beat_at

    def has_beaten(self, now: float) -> None:
        """Note that the lease was renewed."""
        self._beat_at = now + settings.RUN_LEASE_SECONDS / BEATS

    def hear(self, answer: Answer | None) -> None:
        """Take what the run's row says; None: this worker has the run no more."""
        if answer is None:
            self._lost.set()
            self._hurry.set()
            return
        cancelled_at, hand_over, is_active = answer
        if hand_over:
            self._hand_over.set()
            self._hurry.set()
        if not is_active:
            self._orphaned.set()
        if cancelled_at or not is_active:
            self._cancel()

    def _cancel(self) -> None:
        self._cancelled.set()
        self._hurry.set()
        self._stop_late(float("inf"))

    def _stop_late(self, now: float) -> None:
        with self._lock:
            for step, deadline in self._deadlines.items():
                if now >= deadline:
                    step.set()


class Watchman:
    """Watches over all runs of this process, with one thread and one question a tick.

    The thread outlives the runs by a while: most are over before it would look at them.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Drop what the parent of this process had."""
        self._lock = threading.Lock()
        self._watches: set[Watch] = set()
        self._thread: threading.Thread | None = None

    def add(self, watch: Watch) -> None:
        """Watch over a run from now on."""
        with self._lock:
            self._watches.add(watch)
            if self._thread is None:
                self._thread = threading.Thread(target=self._keep_looking, name="watch-runs")
                self._thread.daemon = True
                self._thread.start()

    def remove(self, watch: Watch) -> None:
        """Leave a run alone."""
        with self._lock:
            self._watches.discard(watch)

    def _keep_looking(self) -> None:
        idle = 0
        try:
            while idle * TICK_SECONDS < LINGER_SECONDS or not self._may_end():
                time.sleep(TICK_SECONDS)
                with self._lock:
                    watches = list(self._watches)
                idle = 0 if watches else idle + 1
                try:
                    self._look(watches)
                except AWAY:
                    connection.close()  # the next look opens a new one
                except Exception:  # the boundary: nobody would watch over later runs
                    logger.exception("The runs of this process could not be looked at")
                if not watches:
                    connection.close()
        finally:
            connection.close()

    def _may_end(self) -> bool:
        with self._lock:
            if not self._watches:
                self._thread = None
            return self._thread is None

    def _look(self, watches: list[Watch]) -> None:
        if not watches:
            return
        now = time.monotonic()
        for watch in watches:
            watch.tick(now)
        rows = Run.objects.filter(pk__in=[watch.run_id for watch in watches]).order_by()
        asked = rows.values_list("lease", "cancel_requested_at", "hand_over", "user__is_active")
        told = {lease: (cancelled, given, active) for lease, cancelled, given, active in asked}
        for watch in watches:
            watch.hear(told.get(watch.lease))
            if watch.is_due(now):
                mine = Run.objects.filter(pk=watch.run_id, lease=watch.lease)
                mine.update(lease_until=lease_until())
                watch.has_beaten(now)


watchman = Watchman()

os.register_at_fork(after_in_child=watchman.forget)


@contextmanager
def watching(run: Run, outer: threading.Event) -> Iterator[Watch]:
    """Watch over a run for as long as the block lasts; `outer` is its caller's cancel event."""
    watch = Watch(run, outer)
    watchman.add(watch)
    try:
        yield watch
    finally:
        watchman.remove(watch)
