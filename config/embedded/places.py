"""Where the embedded services live: every path, worked out without touching the disk."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

PROJECT = Path(__file__).resolve().parents[2]

DATABASE_NAME = "outfitter"
POSTGRES_PORT = 5432
"""Not a TCP port: PostgreSQL puts this number in its socket's name."""

LONGEST_SOCKET_PATH = 100
"""Bytes. The kernel allows 107; PostgreSQL adds `.lock` to the name of the file beside it."""


@dataclass(frozen=True)
class Addresses:
    """Where the embedded PostgreSQL and Redis answer, as URLs (both unix sockets)."""

    database_url: str
    redis_url: str


def var_dir() -> Path:
    """Return the folder of everything that is made at run time (`OUTFITTER_VAR`, else `var/`)."""
    chosen = os.environ.get("OUTFITTER_VAR")
    return Path(chosen).expanduser().absolute() if chosen else PROJECT / "var"


def postgres_data_dir() -> Path:
    """Return the PostgreSQL data folder."""
    return var_dir() / "postgres"


def log_file() -> Path:
    """Return the log of the embedded services and of the keeper that runs them."""
    return var_dir() / "log" / "embedded.log"


def lock_file(name: str) -> Path:
    """Return the path of the lock called `name`."""
    return var_dir() / "lock" / name


def socket_dir(service: str) -> Path:
    """Return the folder of a service's socket: under `var/`, or in /tmp when that is too long."""
    inside = var_dir() / "run" / service
    if len(os.fsencode(inside / f".s.PGSQL.{POSTGRES_PORT}.lock")) <= LONGEST_SOCKET_PATH:
        return inside
    digest = hashlib.sha256(os.fsencode(var_dir())).hexdigest()[:12]
    # Not tempfile.gettempdir(): TMPDIR differs from shell to shell, and the address must not.
    return Path("/tmp") / f"outfitter-{digest}-{service}"  # noqa: S108


def redis_socket() -> Path:
    """Return the path of Redis's socket."""
    return socket_dir("redis") / "redis.sock"


def addresses() -> Addresses:
    """Return where the embedded services answer once `ensure()` has run. Starts nothing."""
    return Addresses(
        database_url=database_url(DATABASE_NAME),
        redis_url=f"unix://{quote(str(redis_socket()))}?db=0",
    )


def database_url(name: str) -> str:
    """Return the URL of one database of the embedded PostgreSQL."""
    return f"postgresql://postgres@{quote(str(socket_dir('postgres')), safe='')}/{name}"


def celery_url(redis_url: str) -> str:
    """Spell a Redis URL as Celery wants it: it names a socket `redis+socket` and a database
    `virtual_host`. Other URLs are returned as they are."""
    if not redis_url.startswith("unix://"):
        return redis_url
    path, _, query = redis_url.removeprefix("unix://").partition("?")
    return f"redis+socket://{path}?{query.replace('db=', 'virtual_host=')}"
