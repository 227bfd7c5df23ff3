"""Write the events of all turns of this process: one thread, one statement for all that wait.

A busy process writes many events a second. Those that come while a statement is under way share
the next one, so that a turn's words are delayed by one round trip, however many turns run.
"""

import logging
import os
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cache
from queue import SimpleQueue
from threading import Thread
from uuid import UUID

from django.conf import settings
from django.db import DataError, IntegrityError, connections
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from chat.events import Event, NewEvent, channel_of, event_append, events_append
from config.lib.types import JsonObject

logger = logging.getLogger(__name__)

MOST_AT_ONCE = 500
REDIS_SECONDS = 1
"""How long Redis may take, and how long it is left alone when it did not answer."""


@dataclass(frozen=True)
class Told:
    """An event on its way: one that needs a row, or one that has it."""

    turn_id: UUID
    event: NewEvent | Event
    written: Future[Event] = field(default_factory=Future)


class EventWriter:
    """A thread that writes rows and then tells the followers, in the order they were given."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Told] = SimpleQueue()
        self._redis = Redis.from_url(
            settings.REDIS_URL,
            retry=Retry(NoBackoff(), 1),  # once more: an idle connection may have been closed
            socket_timeout=REDIS_SECONDS,
            socket_connect_timeout=REDIS_SECONDS,
        )
        self._silent_until = 0.0
        Thread(target=self._run, name="chat-events", daemon=True).start()

    def write(self, turn_id: UUID, name: str, data: JsonObject) -> "Future[Event]":
        """Have an event written and told; the future is done once its row is there."""
        told = Told(turn_id, NewEvent(turn_id, name, data))
        self._queue.put(told)
        return told.written

    def announce(self, turn_id: UUID, event: Event) -> None:
        """Tell the followers of a row that is there."""
        self._queue.put(Told(turn_id, event))

    def _run(self) -> None:
        while True:
            batch = [self._queue.get()]
            while len(batch) < MOST_AT_ONCE and not self._queue.empty():
                batch.append(self._queue.get())
            try:
                self._carry_out(batch)
            except Exception:  # the thread serves every turn of the process
                logger.exception("Events of turns could not be written")
            finally:
                if self._queue.empty():
                    connections.close_all()

    def _carry_out(self, batch: Sequence[Told]) -> None:
        outcomes = iter(
            _written([each.event for each in batch if isinstance(each.event, NewEvent)])
        )
        settled = [
            (each, next(outcomes) if isinstance(each.event, NewEvent) else each.event)
            for each in batch
        ]
        try:
            self._publish([(each.turn_id, is_) for each, is_ in settled if isinstance(is_, Event)])
        finally:
            for each, outcome in settled:
                if isinstance(outcome, Event):
                    each.written.set_result(outcome)
                else:
                    each.written.set_exception(outcome)

    def _publish(self, news: Sequence[tuple[UUID, Event]]) -> None:
        """Tell the followers; without Redis they find the rows a little later."""
        if not news or time.monotonic() < self._silent_until:
            return
        pipeline = self._redis.pipeline(transaction=False)
        for turn_id, event in news:
            pipeline.publish(channel_of(turn_id), event.packed())
        try:
            pipeline.execute()
        except RedisError as error:
            self._silent_until = time.monotonic() + REDIS_SECONDS
            logger.warning("Redis did not take %d events of turns: %s", len(news), error)


@cache
def writer() -> EventWriter:
    """Return this process's writer, started with the first event."""
    return EventWriter()


os.register_at_fork(after_in_child=writer.cache_clear)


def announce(turn_id: UUID, events: Sequence[Event]) -> None:
    """Tell the followers of rows that are committed; returns at once, from any thread."""
    for event in events:
        writer().announce(turn_id, event)


def _written(new: Sequence[NewEvent]) -> list[Event | Exception]:
    """Return for each event its row or why there is none; one that fails spoils no other's."""
    if not new:
        return []
    try:
        return list(events_append(new))
    except (IntegrityError, DataError):
        return [_written_alone(event) for event in new]
    except Exception as error:
        return [error] * len(new)


def _written_alone(event: NewEvent) -> Event | Exception:
    try:
        return event_append(event.turn_id, event.name, event.data)
    except Exception as error:
        return error
