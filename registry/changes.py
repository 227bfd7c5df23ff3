"""Hear of what other processes change: one thread and one connection for a whole process."""

import logging
import os
import selectors
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event, Lock, Thread
from typing import Any

import psycopg
from django.db import connection

from registry.models.triggers import (
    AUDIT_CHANNEL,
    CHANGE_CHANNEL,
    STOP_CHANNEL,
    VECTOR_CHANNEL,
    WEIGHTS_CHANNEL,
)

logger = logging.getLogger(__name__)

RECONNECT_SECONDS = 2.0

CHANNELS = (AUDIT_CHANNEL, CHANGE_CHANNEL, STOP_CHANNEL, VECTOR_CHANNEL, WEIGHTS_CHANNEL)
"""All that can be followed."""

Heard = Callable[[str], None]
"""Takes the payload of a notification, in the listening thread.

It is empty after every (re)connection, since notifications may have been missed.
"""


@dataclass(frozen=True, eq=False)
class Follower:
    """Somebody who wants to hear of one channel."""

    channel: str
    heard: Heard


class ChangeFeed:
    """LISTENs for as long as somebody follows a channel."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._followers: tuple[Follower, ...] = ()
        self._listener: _Listener | None = None

    def follow(self, channel: str, heard: Heard) -> Follower:
        """Have `heard` called with each payload from now on, until `leave`."""
        follower = Follower(channel, heard)
        with self._lock:
            self._followers = (*self._followers, follower)
            if self._listener is None:
                self._listener = _Listener(self._tell)
        return follower

    def forget(self) -> None:
        """Drop the followers and the thread of the process that this one was forked from."""
        self._lock = Lock()
        self._followers, self._listener = (), None

    def leave(self, follower: Follower) -> None:
        """Stop following; with the last follower the thread and its connection end."""
        with self._lock:
            self._followers = tuple(item for item in self._followers if item is not follower)
            listener = None
            if not self._followers:
                listener, self._listener = self._listener, None
        if listener is not None:
            listener.stop()

    def _tell(self, channel: str | None, payload: str) -> None:
        for follower in self._followers:
            if channel in (None, follower.channel):
                try:
                    follower.heard(payload)
                except Exception:  # one who stumbles must not make the others deaf
                    logger.exception("A change of %s could not be followed", follower.channel)


class _Listener:
    """The thread; it is woken through a pipe to end."""

    def __init__(self, tell: Callable[[str | None, str], None]) -> None:
        self._tell = tell
        self._wake_reader, self._wake_writer = os.pipe()
        self._stopping = Event()
        self._parameters = _plain(connection.get_connection_params())
        self._thread = Thread(target=self._run, name="registry-changes", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread and its connection."""
        self._stopping.set()
        os.write(self._wake_writer, b"x")
        self._thread.join()
        os.close(self._wake_reader)
        os.close(self._wake_writer)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._listen()
            except psycopg.OperationalError as problem:
                logger.warning("Lost the registry's change feed, reconnecting: %s", problem)
                self._stopping.wait(RECONNECT_SECONDS)

    def _listen(self) -> None:
        with (
            psycopg.connect(**self._parameters, autocommit=True) as feed,
            selectors.DefaultSelector() as selector,
        ):
            for channel in CHANNELS:
                feed.execute(f"LISTEN {channel}")
            self._tell(None, "")
            selector.register(feed.fileno(), selectors.EVENT_READ)
            selector.register(self._wake_reader, selectors.EVENT_READ)
            while not self._stopping.is_set():
                selector.select()
                for notification in feed.notifies(timeout=0):
                    self._tell(notification.channel, notification.payload)


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return Django's parameters without those that are no part of a connection."""
    apart = ("pool", "cursor_factory", "context")
    return {name: value for name, value in parameters.items() if name not in apart}


feed = ChangeFeed()
"""The feed of this process."""

os.register_at_fork(after_in_child=feed.forget)
