"""What Prometheus reads of the parts that everything stands on: database, queue, search."""

import json
import time
from collections.abc import Iterator

from django.conf import settings
from django.db import DatabaseError, connection
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from redis import Redis, RedisError

from registry.search.service import age, indexed

QUEUE = "celery"
"""The one queue of the workers: a list in Redis, whose oldest message is the last."""

SENT_AT = "outfitter_sent_at"
"""The header of a message with the seconds since 1970 at which it was sent."""

_CONNECTIONS = """
    SELECT coalesce(state, 'background'), count(*) FROM pg_stat_activity
    WHERE datname = current_database() GROUP BY 1
"""


class Database(Collector):
    """Whether PostgreSQL answers, who is connected, and this process's own pool."""

    def collect(self) -> Iterator[Metric]:
        """Ask it."""
        try:
            with connection.cursor() as cursor:
                cursor.execute(_CONNECTIONS)
                states = dict(cursor.fetchall())
                cursor.execute("SELECT current_setting('max_connections')::int")
                [most] = cursor.fetchone()
        except DatabaseError:
            yield _gauge("outfitter_database_up", "Whether PostgreSQL answers.", 0)
            return
        yield _gauge("outfitter_database_up", "Whether PostgreSQL answers.", 1)
        told = GaugeMetricFamily(
            "outfitter_database_connections",
            "Connections to the database, of all processes, by PostgreSQL's state.",
            labels=("state",),
        )
        for state, count in states.items():
            told.add_metric((state,), count)
        yield told
        yield _gauge("outfitter_database_connections_limit", "max_connections.", most)
        yield from _pool()


def _pool() -> Iterator[Metric]:
    pool = getattr(connection, "pool", None)
    if pool is None:
        return
    stats = pool.get_stats()
    for key, name, text in (
        ("pool_size", "size", "Connections in the pool of the web process that answers."),
        ("pool_available", "available", "Those of them that nobody uses."),
        ("requests_waiting", "waiting", "Threads that wait for one."),
    ):
        yield _gauge(f"outfitter_database_pool_{name}", text, stats.get(key, 0))


class Queue(Collector):
    """What waits for the workers."""

    def collect(self) -> Iterator[Metric]:
        """Look into Redis."""
        up = GaugeMetricFamily("outfitter_redis_up", "Whether Redis answers.")
        try:
            with Redis.from_url(settings.REDIS_URL, socket_timeout=2) as redis:
                depth, oldest = redis.llen(QUEUE), redis.lindex(QUEUE, -1)
        except RedisError:
            up.add_metric((), 0)
            yield up
            return
        up.add_metric((), 1)
        yield up
        yield _gauge("outfitter_queue_tasks", "Tasks that wait for a worker.", int(str(depth)))
        text = "Age of the task that has waited longest; 0: none waits."
        yield _gauge("outfitter_queue_oldest_seconds", text, _age_of(oldest))


def _age_of(message: object) -> float:
    if not isinstance(message, bytes | str):
        return 0
    sent = json.loads(message).get("headers", {}).get(SENT_AT)
    return max(0.0, time.time() - sent) if isinstance(sent, int | float) else 0


class Search(Collector):
    """The search index of the web process that answers."""

    def collect(self) -> Iterator[Metric]:
        """Look at it."""
        yield _gauge("outfitter_search_tools", "Tools in the search index.", indexed())
        seconds = age()
        if seconds is not None:
            text = "How long ago the index was last known to be as the catalogue is."
            yield _gauge("outfitter_search_lag_seconds", text, seconds)


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)
