"""Hear what Redis publishes: one connection for all that listen in an event loop.

There is a connection only while somebody listens. News may be lost at any time (Redis restarts,
a listener is slow); a listener is told that it `missed` something and then looks at the rows.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from contextvars import Context
from weakref import WeakKeyDictionary

from django.conf import settings
from redis import RedisError
from redis import asyncio as aioredis
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

logger = logging.getLogger(__name__)

MOST_WAITING = 256
"""Messages that are kept for a listener that does not take them."""

RECONNECT_SECONDS = 1.0
CANCEL_SECONDS = 0.1


def connect() -> "aioredis.Redis":
    """Open a Redis client for the running event loop; the caller closes it.

    It fails at once where Redis is gone: whoever uses it can do without for a while.
    """
    return aioredis.from_url(
        settings.REDIS_URL, retry=Retry(NoBackoff(), 0), socket_connect_timeout=5
    )


class Listener:
    """The messages of one channel for one reader."""

    def __init__(self) -> None:
        self.hears = False
        """Whether the subscription stands; while it does not, nobody wakes the listener."""
        self.missed = False
        self._messages: deque[bytes] = deque()
        self._wake = asyncio.Event()

    def take(self, message: bytes) -> None:
        """Keep a message, or drop all of them when there are too many."""
        if len(self._messages) < MOST_WAITING:
            self._messages.append(message)
            self._wake.set()
        else:
            self.miss()

    def miss(self) -> None:
        """Have the listener look for itself."""
        self._messages.clear()
        self.missed = True
        self._wake.set()

    async def wait(self, seconds: float) -> tuple[list[bytes], bool]:
        """Return the messages since last time, and whether some were missed.

        It returns without either after `seconds`.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        heard, missed = list(self._messages), self.missed
        self._messages.clear()
        self.missed = False
        self._wake.clear()
        return heard, missed


class Hub:
    """The listeners of one event loop."""

    def __init__(self) -> None:
        self._listeners: dict[str, set[Listener]] = {}
        self._news: PubSub | None = None
        self._reader: asyncio.Task[None] | None = None

    @property
    def channels(self) -> int:
        """Return how many channels somebody listens to."""
        return len(self._listeners)

    @asynccontextmanager
    async def listening(self, channel: str) -> AsyncGenerator[Listener]:
        """Listen for as long as the block lasts; the listener says when it begins to hear."""
        listener = Listener()
        others = self._listeners.setdefault(channel, set())
        others.add(listener)
        try:
            await self._want(channel)
            yield listener
        finally:
            others.discard(listener)
            if not others and self._listeners.get(channel) is others:
                del self._listeners[channel]
                await self._leave(channel)

    async def _want(self, channel: str) -> None:
        if self._reader is None:
            # it outlives the request that is the first to listen, whose ids it must not keep
            self._reader = asyncio.create_task(self._read(), context=Context())
        elif self._news is not None:
            # asked for once more where others listen: the answer is how this one learns of it
            with suppress(RedisError, OSError):  # the reader finds out too
                await self._news.subscribe(channel)

    async def _leave(self, channel: str) -> None:
        if not self._listeners:
            reader, self._reader, self._news = self._reader, None, None
            while reader is not None and not reader.done():
                reader.cancel()  # more than once: opening a connection may swallow it
                await asyncio.wait({reader}, timeout=CANCEL_SECONDS)
        elif self._news is not None:
            with suppress(RedisError, OSError):
                await self._news.unsubscribe(channel)
            if channel in self._listeners:  # somebody came meanwhile
                await self._want(channel)

    async def _read(self) -> None:
        while True:
            try:
                async with connect() as redis, redis.pubsub() as news:
                    await self._hear(news)
            except (RedisError, OSError) as error:
                logger.warning("Redis is not heard: %s", error)
            self._news = None
            for listener in self._everybody():
                listener.hears = False
                listener.miss()
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _hear(self, news: PubSub) -> None:
        wanted = set(self._listeners)
        await news.subscribe(*wanted)
        self._news = news
        if late := set(self._listeners) - wanted:  # those that came while it was being opened
            await news.subscribe(*late)
        async for message in news.listen():
            self._pass_on(message["type"], message["channel"].decode(), message["data"])

    def _pass_on(self, kind: str, channel: str, data: bytes) -> None:
        for listener in self._listeners.get(channel, ()):
            if kind == "message":
                listener.take(data)
            elif kind == "subscribe":
                listener.hears = True
                listener.miss()

    def _everybody(self) -> list[Listener]:
        return [listener for listeners in self._listeners.values() for listener in listeners]


_hubs: "WeakKeyDictionary[asyncio.AbstractEventLoop, Hub]" = WeakKeyDictionary()


def hub() -> Hub:
    """Return the hub of the running event loop; a web process has one, tests have many."""
    loop = asyncio.get_running_loop()
    if (found := _hubs.get(loop)) is None:
        found = _hubs[loop] = Hub()
    return found
