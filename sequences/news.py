"""Tell those who watch a run that something of it has changed."""

import logging
import os
from functools import cache, partial
from queue import Empty, SimpleQueue
from threading import Thread
from time import sleep
from uuid import UUID

from django.conf import settings
from django.db import transaction
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

logger = logging.getLogger(__name__)

REDIS_SECONDS = 1
"""How long Redis may take, and how long it is left alone when it did not answer."""


def channel_of(run_id: UUID) -> str:
    """Return the Redis channel that carries the news of a run."""
    return f"run:{run_id}"


def tell(run_id: UUID) -> None:
    """Say, once what was written is committed, that a run or one of its steps has changed.

    It takes no time: a thread of its own passes the news on. They may be lost; who watches a run
    looks at its rows besides.
    """
    transaction.on_commit(partial(_tell, channel_of(run_id)))


def _tell(channel: str) -> None:
    _publisher(os.getpid()).waiting.put(channel)


class Publisher:
    """Passes on what waits, each channel once however often it was told meanwhile."""

    def __init__(self, redis: Redis) -> None:
        self.waiting: SimpleQueue[str] = SimpleQueue()
        self._redis = redis
        Thread(target=self._run, name="run-news", daemon=True).start()

    def _run(self) -> None:
        while True:
            channels = {self.waiting.get()}
            while True:
                try:
                    channels.add(self.waiting.get_nowait())
                except Empty:
                    break
            self._publish(channels)

    def _publish(self, channels: set[str]) -> None:
        try:
            with self._redis.pipeline(transaction=False) as pipe:
                for channel in channels:
                    pipe.publish(channel, b"changed")
                pipe.execute()
        except RedisError as error:
            logger.warning("Nobody hears of the change of %d runs: %s", len(channels), error)
            sleep(REDIS_SECONDS)


@cache
def _publisher(pid: int) -> Publisher:
    """Return the publisher of this process: one that was forked has no thread of its parent's."""
    return Publisher(
        Redis.from_url(
            settings.REDIS_URL,
            retry=Retry(NoBackoff(), 1),  # once more: an idle connection may have been closed
            socket_timeout=REDIS_SECONDS,
            socket_connect_timeout=REDIS_SECONDS,
        )
    )
