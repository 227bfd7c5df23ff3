"""Tell whether each part that the product depends on is there."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache as once

from celery import current_app
from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from agents.mcp.app import mcp_app
from config.celery import BEAT_SEEN, BEAT_SEEN_SECONDS
from config.lib.errors import DomainError
from config.lib.types import JsonObject
from registry.sandbox.client import sandbox
from registry.search.dense.choice import chosen_encoder
from registry.search.dense.encoder import EncoderUnavailable
from registry.search.service import indexed, warm

WORKER_SECONDS = 1.5
"""How long the workers have to answer."""

KEPT_SECONDS = 5
"""How long their answer counts: a probe every second must not ask them every second."""

DEMO_MODEL = "demo/offline"
KEYS_OF_PROVIDERS = {
    "openai": ("OPENAI_API_KEY", "OPENAI_API_BASE"),
    "azure": ("AZURE_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "gemini": ("GEMINI_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
}
"""LiteLLM's names of the variables, any one of which lets it reach the provider."""


class NotReady(Exception):
    """A part is not ready; the message says which and why."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """Whether one part is ready, in words what it says, and how many seconds asking it took.

    Without a part that is `needed` nothing works; without another one something does not.
    """

    name: str
    ok: bool
    needed: bool
    detail: str
    seconds: float


def checks() -> list[Check]:
    """Ask every part. An answer never carries more than names, counts and kinds of error."""
    return [
        _check("database", _database),
        _check("migrations", _migrations),
        _check("redis", _redis),
        _check("worker", _worker),
        _check("beat", _beat, needed=False),
        _check("sandbox", _sandbox),
        _check("search", _search),
        _check("mcp", _mcp, needed=False),
        _check("model", _model, needed=False),
        _check("embeddings", _embeddings, needed=False),
    ]


def status_of(found: list[Check]) -> str:
    """Return `ok`, `degraded` where only a part is missing that one can do without, or
    `unavailable`."""
    if all(check.ok for check in found):
        return "ok"
    needed = all(check.ok for check in found if check.needed)
    return "degraded" if needed else "unavailable"


def health_lines(told: JsonObject) -> list[str]:
    """Return what `/readyz` says as lines for a terminal, one for each part."""
    lines = []
    for check in told["checks"]:
        mark = "✓" if check["ok"] else "✗" if check["needed"] else "!"
        lines.append(f"{mark} {check['name']:<11} {check['detail']}")
    return lines


def missing_key(model: str) -> tuple[str, ...]:
    """Return the variables any of which a model's provider needs, where none of them is set."""
    keys = KEYS_OF_PROVIDERS.get(model.partition("/")[0], ())
    return () if any(os.environ.get(key) for key in keys) else keys


def _check(name: str, ask: Callable[[], str], *, needed: bool = True) -> Check:
    started = time.monotonic()
    try:
        ok, detail = True, ask()
    except (NotReady, DomainError) as problem:
        ok, detail = False, str(problem)
    except (DatabaseError, RedisError, OperationalError, OSError) as error:
        ok, detail = False, f"It cannot be reached ({type(error).__name__})."
    seconds = round(time.monotonic() - started, 4)
    return Check(name=name, ok=ok, needed=needed, detail=detail, seconds=seconds)


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return "It answers."


def _migrations() -> str:
    recorder = MigrationRecorder(connection)
    applied = recorder.migration_qs.using(connection.alias).values_list("app", "name")
    if waiting := len(_shipped() - set(applied)):
        raise NotReady(f"{waiting} wait: run `manage.py migrate`.")
    return "All are applied."


@once
def _shipped() -> frozenset[tuple[str, str]]:
    """Return the migrations of this release, which do not change while the process lives."""
    return frozenset(MigrationLoader(None).disk_migrations or ())


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


def _beat() -> str:
    if not cache.get(BEAT_SEEN):
        raise NotReady(
            f"Nothing was sent to the workers on time in the last {BEAT_SEEN_SECONDS} seconds."
        )
    return "It sends what is due."


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


def _mcp() -> str:
    if not mcp_app.is_serving:
        raise NotReady("Its server is not there yet, or has ended.")
    return "It is served at /mcp."


def _model() -> str:
    if settings.OUTFITTER_MODEL == DEMO_MODEL:
        return "The offline demonstration model answers."
    if missing_key(settings.OUTFITTER_MODEL):
        raise NotReady("The model's provider needs a key that is not set.")
    return "What its provider needs is set."


def _embeddings() -> str:
    try:
        encoder = chosen_encoder()
    except EncoderUnavailable:
        raise NotReady("Search goes by words alone: the model for meaning is not there.") from None
    return "Search goes by words alone." if encoder is None else "Search goes by meaning, too."
