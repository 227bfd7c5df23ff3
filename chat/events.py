"""The event log of a turn: written by the turn, followed by any number of readers.

Every event is a row before anyone hears of it. Redis only carries the news, so a reader that
missed some of it, or finds Redis gone, still reads everything from the rows.
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Sequence
from dataclasses import asdict, dataclass
from uuid import UUID

from django.conf import settings
from django.db.models import Max
from redis import Redis, RedisError
from redis import asyncio as aioredis

from chat.models import TurnEvent
from chat.threads import in_thread
from config.lib.types import JsonObject

logger = logging.getLogger(__name__)

TERMINAL = frozenset({"turn.completed", "turn.failed"})
WAITING = "turn.waiting"
COALESCE_SECONDS = 0.05
"""Words that come within this time are one event: a row for every token would be too many."""

KEEPALIVE_SECONDS = 15


@dataclass(frozen=True)
class Event:
    """One event of a turn; `number` counts from 1 and is its id on the wire."""

    number: int
    name: str
    data: JsonObject


class EventLog:
    """Writes the events of one turn, in order, from its event loop."""

    def __init__(self, turn_id: UUID, redis: "aioredis.Redis") -> None:
        self._turn_id = turn_id
        self._redis = redis
        self._lock = asyncio.Lock()
        self._words: list[str] = []
        self._flushing: asyncio.Task[None] | None = None

    async def append(self, name: str, data: JsonObject) -> None:
        """Write one event, behind the words that were said before it."""
        async with self._lock:
            await self._flush()
            await self._write(name, data)

    async def say(self, text: str) -> None:
        """Write some words; those that come close together become one `text.delta`."""
        self._words.append(text)
        if self._flushing is None:
            self._flushing = asyncio.create_task(self._flush_soon())

    async def close(self) -> None:
        """Write the words that still wait."""
        async with self._lock:
            await self._flush()

    async def _flush_soon(self) -> None:
        await asyncio.sleep(COALESCE_SECONDS)
        self._flushing = None
        async with self._lock:
            await self._flush()

    async def _flush(self) -> None:
        if self._words:
            text = "".join(self._words)
            self._words.clear()
            await self._write("text.delta", {"text": text})

    async def _write(self, name: str, data: JsonObject) -> None:
        event = await in_thread(event_append, self._turn_id, name, data)
        await announce(self._redis, self._turn_id, event)


def event_append(turn_id: UUID, name: str, data: JsonObject) -> Event:
    """Write the next row of a turn's log."""
    last = TurnEvent.objects.filter(turn_id=turn_id).aggregate(last=Max("number"))["last"] or 0
    TurnEvent.objects.create(turn_id=turn_id, number=last + 1, name=name, data=data)
    return Event(last + 1, name, data)


def events_after(turn_id: UUID, number: int) -> list[Event]:
    """Return the rows of a turn's log behind `number`, in order."""
    rows = TurnEvent.objects.filter(turn_id=turn_id, number__gt=number).order_by("number")
    return [Event(row.number, row.name, row.data) for row in rows]


async def announce(redis: "aioredis.Redis", turn_id: UUID, event: Event) -> None:
    """Tell the followers of a new row; without Redis they find it a little later."""
    try:
        await redis.publish(channel_of(turn_id), json.dumps(asdict(event), ensure_ascii=False))
    except RedisError as error:
        logger.warning("Redis did not take an event of turn %s: %s", turn_id, error)


def announce_now(turn_id: UUID, events: Sequence[Event]) -> None:
    """Tell the followers of rows that were committed outside a turn's own event loop."""
    try:
        with Redis.from_url(settings.REDIS_URL) as redis:
            for event in events:
                redis.publish(channel_of(turn_id), json.dumps(asdict(event), ensure_ascii=False))
    except RedisError as error:
        logger.warning("Redis did not take an event of turn %s: %s", turn_id, error)


def channel_of(turn_id: UUID) -> str:
    """Return the Redis channel that carries a turn's events."""
    return f"turn:{turn_id}"


def connect() -> "aioredis.Redis":
    """Open a Redis client for the running event loop; the caller closes it."""
    return aioredis.from_url(settings.REDIS_URL)


async def follow(
    turn_id: UUID, *, after: int = 0, until_waiting: bool = False
) -> AsyncGenerator[Event | None]:
    """Yield the events behind `after`, first the rows, then live, until the turn is over.

    A turn that waits for a person is followed on, unless `until_waiting`. Yields None when nothing
    happened for `KEEPALIVE_SECONDS`, so that the reader can tell the other side that the
    connection lives.
    """
    ends = TERMINAL | {WAITING} if until_waiting else TERMINAL
    redis = connect()
    try:
        async with redis.pubsub() as news:
            # listening starts before the rows are read, so that nothing falls in between
            await news.subscribe(channel_of(turn_id))
            await news.get_message(timeout=KEEPALIVE_SECONDS)
            waiting = await in_thread(events_after, turn_id, after)
            while True:
                for event in waiting:
                    after = event.number
                    yield event
                # what was taken up again goes on behind its end
                if waiting and waiting[-1].name in ends:
                    return
                message = await news.get_message(
                    ignore_subscribe_messages=True, timeout=KEEPALIVE_SECONDS
                )
                waiting = await _heard(turn_id, after, message)
                if message is None and not waiting:
                    yield None
    finally:
        await redis.aclose()


async def _heard(turn_id: UUID, after: int, message: JsonObject | None) -> list[Event]:
    """Return the new events: the one in `message`, or the rows where some were missed."""
    if message is None:
        return await in_thread(events_after, turn_id, after)
    event = Event(**json.loads(message["data"]))
    if event.number <= after:
        return []
    if event.number == after + 1:
        return [event]
    return await in_thread(events_after, turn_id, after)
