"""Tell those who watch a run that something of it has changed."""

import logging
import time
from functools import cache, partial
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

    News may be lost: who watches a run looks at its rows besides.
    """
    transaction.on_commit(partial(_publisher().publish, channel_of(run_id)), robust=True)


class _Publisher:
    """One Redis client for this process, left alone for a while where Redis does not answer."""

    def __init__(self) -> None:
        self._redis = Redis.from_url(
            settings.REDIS_URL,
            retry=Retry(NoBackoff(), 1),  # once more: an idle connection may have been closed
            socket_timeout=REDIS_SECONDS,
            socket_connect_timeout=REDIS_SECONDS,
        )
        self._silent_until = 0.0

    def publish(self, channel: str) -> None:
        if time.monotonic() < self._silent_until:
            return
        try:
            self._redis.publish(channel, b"changed")
        except RedisError as error:
            self._silent_until = time.monotonic() + REDIS_SECONDS
            logger.warning("Nobody hears of the change of %s: %s", channel, error)


@cache
def _publisher() -> _Publisher:
    return _Publisher()
