"""Use the embedded services from this process, for as long as it needs them."""

import os
import subprocess
import sys
import time

from config.embedded import places, postgres, redis
from config.embedded.errors import EmbeddedServiceError
from config.embedded.locks import FileLock

START_SECONDS = 90
STOP_SECONDS = 30
POLL_SECONDS = 0.05

_users: FileLock | None = None


def ensure(*, durable: bool = True) -> None:
    """Start the embedded services that are not running, and use them until this process ends.

    Does nothing for a service that DATABASE_URL or REDIS_URL replaces, and nothing the second
    time. Safe to call from several processes at once. With `durable` False (test runs) a server
    that is started does not wait for the disk.
    Raises EmbeddedServiceError, with the last lines of the log, when a service does not start.
    """
    global _users  # noqa: PLW0603 -- the lease belongs to the process
    if not _wanted():
        return
    users = FileLock(places.lock_file("users"))
    if _users is None or _users.path != users.path:
        _take(users)
        _users = users
    _start(durable=durable)


def stop() -> None:
    """Stop using the services; they stop, and this returns when they have, unless another
    process of this folder uses them."""
    global _users
    if _users is None:
        return
    users, _users = _users, None
    users.release()
    deadline = time.monotonic() + STOP_SECONDS
    while _keeper_runs() and not _used_by_others(users) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)


def descriptors() -> tuple[int, ...]:
    """Return the descriptor that holds the lease: a child that inherits it uses the services
    too, so that they outlive it when this process is killed."""
    return () if _users is None or _users.descriptor is None else (_users.descriptor,)


def _wanted() -> list[str]:
    replaced = {"PostgreSQL": "DATABASE_URL", "Redis": "REDIS_URL"}
    return [name for name, variable in replaced.items() if not os.environ.get(variable)]


def _missing() -> list[str]:
    """Return the names of the wanted services that do not answer."""
    answers = {"PostgreSQL": postgres.answers, "Redis": redis.answers}
    return [name for name in _wanted() if not answers[name]()]


def _take(users: FileLock) -> None:
    try:
        taken = users.wait_shared(START_SECONDS)
    except PermissionError as error:
        raise EmbeddedServiceError(
            f"{error.filename} belongs to another user. Run as that user, remove "
            f"{places.var_dir()}, or name another folder with OUTFITTER_VAR."
        ) from error
    if not taken:
        raise EmbeddedServiceError(
            f"The embedded services in {places.var_dir()} have been stopping for "
            f"{START_SECONDS} s. See {places.log_file()}."
        )


def _start(*, durable: bool) -> None:
    """Start the keeper unless one runs, and wait until what it runs answers."""
    starting = FileLock(places.lock_file("starting"))
    if not starting.wait_alone(START_SECONDS):
        raise EmbeddedServiceError("Another process has been starting the services for too long.")
    try:
        if not _keeper_runs():
            _spawn_keeper(durable=durable)
        _wait_until_all_answer()
    finally:
        starting.release()


def _wait_until_all_answer() -> None:
    deadline = time.monotonic() + START_SECONDS
    while missing := _missing():
        if not _keeper_runs() or time.monotonic() > deadline:
            raise EmbeddedServiceError(
                f"{' and '.join(missing)} did not start. The end of {places.log_file()}:\n"
                + _end_of_log()
            )
        time.sleep(POLL_SECONDS)


def _spawn_keeper(*, durable: bool) -> None:
    """Start a keeper; it runs, detached from this process, when this returns."""
    places.log_file().parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "config.embedded.keeper", *([] if durable else ["--volatile"])]
    with places.log_file().open("wb") as log:
        # A session of its own: Ctrl-C in the terminal must not reach the servers before the
        # processes that use them have ended.
        subprocess.run(
            command,
            check=False,
            cwd=places.PROJECT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _keeper_runs() -> bool:
    keeper = FileLock(places.lock_file("keeper"))
    free = keeper.try_alone()
    keeper.release()
    return not free


def _used_by_others(users: FileLock) -> bool:
    """Return whether the lock is shared by a user (not held alone by a keeper that stops)."""
    alone = users.try_alone()
    shared = not alone and users.try_shared()
    users.release()
    return shared


def _end_of_log(lines: int = 15) -> str:
    text = places.log_file().read_text(errors="replace")
    return "\n".join(text.splitlines()[-lines:])
