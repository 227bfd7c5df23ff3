"""The keeper: runs the embedded services for as long as any process of this folder uses them.

Every user holds the lock `users` shared (see `lease`), and the kernel takes it back when a user
ends, however it ends. The keeper tries to take that lock alone: once it succeeds nobody is left,
and it stops the services. Run as `python -m config.embedded.keeper [--volatile]`; one per folder.
"""

import argparse
import os
import signal
import sys
import time

from config.embedded import places, postgres, redis
from config.embedded.errors import EmbeddedServiceError
from config.embedded.locks import FileLock
from config.embedded.service import Service, stop_together

START_SECONDS = 60
POLL_SECONDS = 0.1


def wanted_services(*, durable: bool) -> list[Service]:
    """Prepare and return the services that no environment variable replaces."""
    services = []
    if not os.environ.get("DATABASE_URL"):
        postgres.prepare()
        services.append(postgres.service(report, durable=durable))
    if not os.environ.get("REDIS_URL"):
        redis.prepare()
        services.append(redis.service(report))
    return services


def create_database_when_ready(service: Service) -> None:
    """Wait for PostgreSQL and create the product's database in it."""
    import psycopg

    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            return postgres.create_database()
        except psycopg.OperationalError as error:
            ended = service.process is not None and service.process.poll() is not None
            if ended or time.monotonic() > deadline:
                raise EmbeddedServiceError(f"PostgreSQL did not start: {error}") from error
        time.sleep(POLL_SECONDS)


def keep(services: list[Service], users: FileLock) -> None:
    """Watch the services until nobody uses them."""
    while not users.try_alone():
        for service in services:
            service.watch()
        time.sleep(POLL_SECONDS)


def report(message: str) -> None:
    """Write one line to the log."""
    sys.stderr.write(f"keeper: {message}\n")
    sys.stderr.flush()


def main() -> None:
    """Detach; run the services; stop them when the last user has gone or on SIGTERM."""
    parser = argparse.ArgumentParser(description="Run the embedded PostgreSQL and Redis.")
    parser.add_argument("--volatile", action="store_true", help="data need not survive a crash")
    durable = not parser.parse_args().volatile
    keeper, users = FileLock(places.lock_file("keeper")), FileLock(places.lock_file("users"))
    if not keeper.try_alone():
        return
    if os.fork() != 0:
        os._exit(0)  # whoever started it goes on; the child has the lock
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    services: list[Service] = []
    try:
        services = wanted_services(durable=durable)
        for service in services:
            service.start()
            if service.name == "PostgreSQL":
                create_database_when_ready(service)
        keep(services, users)
    except EmbeddedServiceError as error:
        sys.exit(f"keeper: {error}")
    finally:
        stop_together(services)


if __name__ == "__main__":
    main()
