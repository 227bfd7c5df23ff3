"""The calls that run in this process, so that a stop ends them at once."""

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock
from typing import NamedTuple
from uuid import UUID

from django.db import connection

from registry.changes import Follower, feed
from registry.errors import ToolStopped
from registry.models.triggers import STOP_CHANNEL
from registry.standing import Standing, stops_of

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.05
"""How often one who waits for a call's signal looks whether its caller gave up."""


class Stop(NamedTuple):
    """Why nobody may call a tool any more; `package` names what was stopped, if not the tool."""

    reason: str
    package: str = ""

    def error(self, name: str, *, running: bool = False) -> ToolStopped:
        """Return what is told to whoever calls the tool, or was just doing so."""
        what = f"{name} was stopped" if not self.package else f"{self.package} was stopped"
        while_running = " while this call ran" if running else ""
        of_package = f", and {name} with it" if self.package else ""
        message = f"{what}{while_running}{of_package}: {self.reason}"
        return ToolStopped(
            message, phase="execute" if running else "permission", reason=self.reason
        )


def stop_in(standing: Standing) -> Stop | None:
    """Return the stop that a standing tells of; that of the tool itself comes first."""
    if standing.stopped_reason:
        return Stop(standing.stopped_reason)
    if standing.package_stopped_reason:
        return Stop(standing.package_stopped_reason, standing.package_name or "")
    return None


class Signal(Event):
    """Set when the call is to end: because its caller gave up, or because its tool was stopped.

    `stop` says why, in the second case.
    """

    def __init__(self, outer: Event) -> None:
        super().__init__()
        self._outer = outer
        self.stop: Stop | None = None

    def is_set(self) -> bool:
        """Say whether the call is to end."""
        return super().is_set() or self._outer.is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the call is to end, at most `timeout` seconds; say whether it is."""
        until = None if timeout is None else time.monotonic() + timeout
        while not self.is_set():
            left = POLL_SECONDS if until is None else min(POLL_SECONDS, until - time.monotonic())
            if left <= 0:
                break
            super().wait(left)
        return self.is_set()

    def end(self, stop: Stop) -> None:
        """End the call, because of this stop."""
        self.stop = stop
        self.set()


class RunningCalls:
    """What runs now, by tool."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._signals: dict[UUID, set[Signal]] = {}
        self._follower: Follower | None = None

    @contextmanager
    def call(self, tool_id: UUID, outer: Event) -> Iterator[Signal]:
        """Yield the signal on which a call of this tool has to end.

        It must be entered before it is read whether the tool is stopped: a stop that comes after
        that is heard here.
        """
        signal = Signal(outer)
        with self._lock:
            self._signals.setdefault(tool_id, set()).add(signal)
            if self._follower is None:
                self._follower = feed.follow(STOP_CHANNEL, self._heard)
        try:
            yield signal
        finally:
            with self._lock:
                signals = self._signals.get(tool_id, set())
                signals.discard(signal)
                if not signals:
                    self._signals.pop(tool_id, None)

    def reset(self) -> None:
        """Let go of the change feed; the next call follows it anew."""
        with self._lock:
            follower, self._follower = self._follower, None
        if follower is not None:
            feed.leave(follower)

    def forget(self) -> None:
        """Drop what the parent of this process had."""
        self._lock = Lock()
        self._signals, self._follower = {}, None

    def _heard(self, _payload: str) -> None:
        """End the calls of whatever is stopped now; who was stopped is read, not believed."""
        with self._lock:
            tool_ids = list(self._signals)
        if not tool_ids:
            return
        try:
            stops = stops_of(tool_ids)
        finally:
            connection.close()
        for tool_id, (reason, package) in stops.items():
            with self._lock:
                signals = list(self._signals.get(tool_id, ()))
            for signal in signals:
                logger.warning("A running call of %s is ended: it was stopped", tool_id)
                signal.end(Stop(reason, package))


running = RunningCalls()
"""The calls of this process."""

os.register_at_fork(after_in_child=running.forget)
