"""Hear of every change of the registry, whichever process made it."""

import logging
import os
import selectors
from collections.abc import Callable
from threading import Event, Thread

import psycopg
from django.db import connection

from registry.models.triggers import CHANGE_CHANNEL

logger = logging.getLogger(__name__)

RECONNECT_SECONDS = 2.0


class ChangeListener:
    """A thread that LISTENs on its own connection and hands each payload on.

    `on_change` gets a tool id, or an empty text when more than one tool may have changed. It gets
    the empty text after every (re)connection too, since notifications may have been missed.
    """

    def __init__(self, on_change: Callable[[str], None]) -> None:
        self._on_change = on_change
        self._wake_reader, self._wake_writer = os.pipe()
        self._stopping = Event()
        self._parameters = connection.get_connection_params()
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
        wanted = {k: v for k, v in self._parameters.items() if k not in ("pool", "cursor_factory")}
        wanted.pop("context", None)
        with (
            psycopg.connect(**wanted, autocommit=True) as feed,
            selectors.DefaultSelector() as selector,
        ):
            feed.execute(f"LISTEN {CHANGE_CHANNEL}")
            self._on_change("")
            selector.register(feed.fileno(), selectors.EVENT_READ)
            selector.register(self._wake_reader, selectors.EVENT_READ)
            while not self._stopping.is_set():
                selector.select()
                for notification in feed.notifies(timeout=0):
                    self._on_change(notification.payload)
