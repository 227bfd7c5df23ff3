"""`manage.py up`: the whole product in one terminal."""

import os
import threading
import time
from argparse import ArgumentParser
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from config import embedded
from config.embedded.places import var_dir
from config.lib.types import JsonObject
from config.readiness import health_lines
from config.supervision import preflight
from config.supervision.account import USERNAME, create_admin
from config.supervision.console import Console
from config.supervision.instance import only_instance
from config.supervision.plan import Listening, Plan, plan
from config.supervision.supervisor import Supervisor, answer_of, responds
from registry.errors import ToolError
from registry.sandbox.client import sandbox

HEALTH_SECONDS = 30
"""How long the parts have to be there, before it is said which are."""

STARTED_LATER = {"beat"}
"""Parts that the product can do without, but that `up` itself has just started."""


class Command(BaseCommand):
    """Run web, worker, beat and sandbox with PostgreSQL and Redis, until Ctrl-C."""

    help = "Run the whole product, until Ctrl-C: PostgreSQL, Redis, sandbox, web, worker and beat."
    requires_system_checks = ()  # it must be able to say what is missing

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options; the environment gives their defaults."""
        environment = os.environ
        parser.add_argument("--host", default=environment.get("HOST", "127.0.0.1"))
        parser.add_argument("--port", type=int, default=environment.get("PORT", "8000"))
        parser.add_argument("--concurrency", type=int, default=2, help="tasks run at once")
        parser.add_argument("--no-seed", action="store_true", help="make no demonstration data")

    def handle(self, *_: Any, **options: Any) -> None:
        """Check, prepare, run."""
        console, listening = Console(), Listening(options["host"], options["port"])
        try:
            with only_instance(listening.url):
                preflight.check_port(listening.host, listening.port)
                preflight.provide_bubblewrap(console)
                preflight.provide_deno(console)
                prepare(console)
                everything = plan(console, listening, concurrency=options["concurrency"])
                supervise(everything, console, listening, seeded=not options["no_seed"])
        except (preflight.NotReadyError, embedded.EmbeddedServiceError) as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            console.say("Stopped before everything had started.")


def prepare(console: Console) -> None:
    """Start PostgreSQL and Redis; bring the tables and the static files up to date."""
    console.say(f"Starting PostgreSQL and Redis in {var_dir()}")
    embedded.ensure()
    call_command("migrate", interactive=False, verbosity=1)
    call_command("collectstatic", interactive=False, verbosity=0)
    connection.close()
    count_together()


def count_together() -> None:
    """Have the processes count into one folder, from nothing, for `/metrics`."""
    folder = Path(os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", str(var_dir() / "metrics")))
    folder.mkdir(parents=True, exist_ok=True)
    for counts in folder.glob("*.db"):
        counts.unlink()


def supervise(everything: Plan, console: Console, listening: Listening, *, seeded: bool) -> None:
    """Run the services; when the web answers, make the first account and say where to go."""

    def opened() -> None:
        password = create_admin(os.environ.get("OUTFITTER_ADMIN_PASSWORD"))
        connection.close()
        console.say()
        console.say(f"  Outfitter is ready: open {listening.url}")
        if password:
            console.say(f"  Sign in as {USERNAME} with the password {password}")
            console.say("  (it is shown this once; change it under Admin → Change password)")
        console.say("  Ctrl-C stops it.")
        console.say()
        asking = partial(say_health, console, listening)
        threading.Thread(target=asking, name="health", daemon=True).start()

    Supervisor(
        everything,
        console,
        ready=lambda: responds(listening.reachable, listening.port, "/healthz"),
        opened=opened,
        seedable=sandbox_answers if seeded else None,
    ).run()


def say_health(console: Console, listening: Listening) -> None:
    """Say of each part whether it is there, as soon as all are or when the time is up."""
    deadline = time.monotonic() + HEALTH_SECONDS
    told = answer_of(listening.reachable, listening.port, "/readyz")
    while (told is None or _awaited(told)) and time.monotonic() < deadline:
        time.sleep(1)
        told = answer_of(listening.reachable, listening.port, "/readyz") or told
    for line in health_lines(told) if told else ["/readyz does not answer."]:
        console.say(f"  {line}")
    console.say()


def _awaited(told: JsonObject) -> bool:
    """Return whether a part is missing that is still to come."""
    missing = {check["name"] for check in told["checks"] if not check["ok"]}
    return told["status"] == "unavailable" or not missing.isdisjoint(STARTED_LATER)


def sandbox_answers() -> bool:
    """Return whether the sandbox service is there: the demonstration imports a package."""
    try:
        sandbox().status()
    except ToolError:
        return False
    return True
