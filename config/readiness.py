"""Tell whether each part that the product needs is there."""

from collections.abc import Callable
from dataclasses import dataclass

from celery import current_app
from django.core.cache import cache
from django.db import DatabaseError, connection
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from config.lib.errors import DomainError
from registry.sandbox.client import sandbox
from registry.search.service import indexed, warm

WORKER_SECONDS = 1.5
"""How long the workers have to answer."""

KEPT_SECONDS = 5
"""How long their answer counts: a probe every second must not ask them every second."""


class NotReady(Exception):
    """A part is not ready; the message says which and why."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """Whether one part is ready, and in words what it says."""

    name: str
    ok: bool
    detail: str


def checks() -> list[Check]:
    """Ask every part. An answer never carries more than names, counts and kinds of error."""
    return [
        _check("database", _database),
        _check("redis", _redis),
        _check("worker", _worker),
        _check("sandbox", _sandbox),
        _check("search", _search),
    ]


def _check(name: str, ask: Callable[[], str]) -> Check:
    try:
        return Check(name=name, ok=True, detail=ask())
    except (NotReady, DomainError) as problem:
        return Check(name=name, ok=False, detail=str(problem))
    except (DatabaseError, RedisError, OperationalError, OSError) as error:
        return Check(name=name, ok=False, detail=f"It cannot be reached ({type(error).__name__}).")


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return "It answers."


def _redis() -> str:
    cache.set("readyz", 1, KEPT_SECONDS)
    if cache.get("readyz") != 1:
        raise NotReady("It does not keep what is written.")
    return "It answers."


def _worker() -> str:
    count = cache.get("readyz:workers")
    if count is None:
        count = len(current_app.control.ping(timeout=WORKER_SECONDS, limit=1) or [])
        cache.set("readyz:workers", count, KEPT_SECONDS)
    if not count:
        raise NotReady(f"No worker answered within {WORKER_SECONDS:g} seconds.")
    return "A worker answers."


def _sandbox() -> str:
    status = sandbox().status()
    if not status["ok"]:
        failed = [check["name"] for check in status["checks"] if not check["ok"]]
        raise NotReady(f"Its self-test failed: {', '.join(failed)}.")
    return f"It is ready ({status['tier']})."


def _search() -> str:
    if loading := warm():
        of = f": {loading.done} of {loading.total} tools" if loading.total else ""
        raise NotReady(f"The search index is loading{of}.")
    return f"{indexed()} tools are indexed."
