"""Checks of the product's own parts. PostgreSQL and Redis are started for the check if they can
be; worker and sandbox are only asked."""

import os
import stat
from collections.abc import Callable

from celery import current_app
from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from config import embedded
from config.diagnosis.finding import Trouble
from config.embedded.secrets import Secrets, weaknesses
from config.readiness import DEMO_MODEL, missing_key
from config.sealed import sealed_count, unreadable
from registry.errors import ToolError
from registry.sandbox.client import sandbox
from registry.search.dense.bert import INSTALL
from registry.search.dense.choice import OFF, chosen_encoder
from registry.search.dense.encoder import EncoderUnavailable
from registry.search.dense.progress import vector_progress

WORKER_SECONDS = 2.0
SEMANTIC_FIX = f"Run `{INSTALL}` for the local model, or correct OUTFITTER_EMBEDDINGS."
START = "Start it with `make run`, or in a deployment its unit or container."


def secrets() -> str:
    """Check the product's own keys, and who can read their file."""
    found = Secrets(settings.SECRET_KEY, tuple(settings.ENCRYPTION_KEYS))
    if problems := weaknesses(found):
        raise Trouble(" ".join(problems), "Set them as described.")
    path = embedded.var_dir() / "secrets.json"
    if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise Trouble(f"Others may read {path}.", f"chmod 600 '{path}'")
    return "They are strong."


def postgresql() -> str:
    """Check that the database answers."""
    try:
        embedded.ensure()
        with connection.cursor() as cursor:
            cursor.execute("SHOW server_version")
            (version,) = cursor.fetchone()
    except (embedded.EmbeddedServiceError, DatabaseError) as error:
        raise Trouble(f"It does not answer: {_first_line(error)}", _fix("DATABASE_URL")) from error
    return f"PostgreSQL {version} answers."


def redis() -> str:
    """Check that the cache and queue answer."""
    try:
        cache.set("doctor", 1, timeout=5)
    except RedisError as error:
        raise Trouble(f"It does not answer: {_first_line(error)}", _fix("REDIS_URL")) from error
    return "Redis answers."


def migrations() -> str:
    """Check that the tables are up to date."""
    try:
        executor = MigrationExecutor(connection)
        waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as error:
        raise Trouble("Not known: the database does not answer.", START) from error
    if waiting:
        raise Trouble(f"{len(waiting)} migrations wait.", "Run `manage.py migrate`.")
    return "All are applied."


def sealed() -> str:
    """Check that every sealed value can be opened with the present keys."""
    try:
        lost, total = unreadable(), sealed_count()
    except DatabaseError as error:
        raise Trouble("Not known: the tables cannot be read.", START) from error
    if lost:
        raise Trouble(
            f"{len(lost)} of {total} sealed values cannot be opened with the present keys.",
            "`manage.py rotate_keys --check` names them. Bring the old key back, or have them set "
            "again.",
        )
    return f"All {total} sealed values can be opened."


def worker() -> str:
    """Check that a Celery worker answers."""
    try:
        answers = current_app.control.ping(timeout=WORKER_SECONDS, limit=1) or []
    except (OperationalError, RedisError) as error:
        raise Trouble("Not known: Redis does not answer.", START) from error
    if not answers:
        raise Trouble(f"No worker answered within {WORKER_SECONDS:g} s.", START)
    return "A worker answers."


def sandbox_service() -> str:
    """Check that the sandbox service answers and that its self-test holds."""
    try:
        status = sandbox().status()
    except ToolError as error:
        raise Trouble(error.message, START) from error
    failed = [check for check in status["checks"] if not check["ok"]]
    if failed or not status["ok"]:
        details = "; ".join(f"{check['name']}: {check['detail']}" for check in failed)
        fixes = "; ".join(check["fix"] for check in failed if check["fix"])
        raise Trouble(f"Its self-test failed: {details}", fixes or "See the lines of its log.")
    return (
        f"It answers; isolation: {status['tier']}, store: {status['store']}, memory for tools: "
        f"{status['memory']['budget'] >> 20} MB. {status['cgroup']['detail']}"
    )


def model() -> str:
    """Check that the language model can be reached with what is set."""
    name = settings.OUTFITTER_MODEL
    if name == DEMO_MODEL:
        return f"{name}: the offline demonstration model. Set OUTFITTER_MODEL for a real one."
    if keys := missing_key(name):
        raise Trouble(f"{name} needs {' or '.join(keys)}.", f"Set {keys[0]} in the environment.")
    return f"{name}."


def semantic_search() -> str:
    """Check how far the vectors are that search compares meaning by."""
    try:
        encoder = chosen_encoder()
    except EncoderUnavailable as problem:
        raise Trouble(f"Search goes by words alone: {problem}", SEMANTIC_FIX) from problem
    if encoder is None:
        why = "it is off" if settings.EMBEDDINGS == OFF else f"`{INSTALL}` adds search by meaning"
        return f"Search goes by words alone: {why}."
    try:
        found = vector_progress(encoder)
    except DatabaseError as error:
        raise Trouble("Not known: the tables cannot be read.", START) from error
    told = f"{found.encoder}: {found.stored:,} of {found.total:,} tools have a vector"
    if found.refused:
        told += f", {found.refused:,} were refused"
    if found.waiting and found.problem:
        raise Trouble(f"{told}; {found.waiting:,} wait. {found.problem}", SEMANTIC_FIX)
    return f"{told}; {found.waiting:,} wait." if found.waiting else f"{told}."


PART_CHECKS: dict[str, Callable[[], str]] = {
    "secrets": secrets,
    "postgresql": postgresql,
    "redis": redis,
    "migrations": migrations,
    "sealed values": sealed,
    "worker": worker,
    "sandbox": sandbox_service,
    "model": model,
    "semantic search": semantic_search,
}


def _fix(variable: str) -> str:
    """Return how to mend a service, which is ours or the operator's."""
    if os.environ.get(variable):
        return f"Start the server that {variable} names, or correct the variable."
    return "Read the log in var/log/embedded.log; `make venv` installs what is missing."


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
