"""Kill everything under a hundred runs, and tell what became of them, as JSON.

Run as `python -m tests.durability.chaos FOLDER`, in the environment of `product.environment`.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.durability import FILE, product
from tests.durability.product import Worker

RUNS = 100
DEEDS = (
    "pool process killed",
    "queue lost",
    "pool process killed",
    "machine lost",
    "pool process killed",
    "database restarted",
    "pool process killed",
    "worker killed",
    "pool process killed",
    "handed over",
    "pool process killed",
)
PATIENCE = 120
"""Seconds that a busy machine may take for what a quiet one does in a few."""

WRITES, PUTS = ("write_a", "write_b", "write_c"), ("put_a", "put_b")


def main(folder: Path) -> None:
    """Do it all."""
    product.begin()
    from sequences.models import Run
    from sequences.models.run import FINISHED, PAUSED, RunStatus

    runs = [queued() for _ in range(RUNS)]
    workers = [Worker(f"w{number}", folder) for number in range(2)]
    beat = product.beat(folder)
    for worker in workers:
        worker.start()
    settled = [*FINISHED, *PAUSED]
    try:
        began = product.until(Run.objects.filter(status=RunStatus.RUNNING).exists, PATIENCE)
        deeds = disturb(workers)
        over = product.until(
            lambda: Run.objects.filter(status__in=settled).count() == len(runs), PATIENCE
        )
        report = told(runs)
        resolve()
        finished = product.until(
            lambda: Run.objects.filter(status__in=FINISHED).count() == len(runs), PATIENCE
        )
        print(  # noqa: T201 -- this is its answer
            json.dumps(
                {
                    **report,
                    "began": began,
                    "deeds": deeds,
                    "over": over,
                    "finished": finished,
                    "in_the_end": told(runs)["runs"],
                }
            )
        )
    finally:
        beat.kill()
        for worker in workers:
            worker.kill_whole()


def queued() -> Any:
    """Make a run of a sequence of tools that may be called twice and of tools that must not."""
    from django.contrib.auth.models import User

    from registry.models import Tool
    from registry.models.tool import ToolKind
    from sequences.models import Run
    from sequences.sending import enqueue
    from tests import factories

    alice, _ = User.objects.get_or_create(username="alice")
    sequence = Tool.objects.filter(wire_name="chaos").first()
    if sequence is None:
        schema = {"type": "object", "properties": {}}
        tools = {
            name: factories.make_tool(
                kind=ToolKind.NPM if name in WRITES else ToolKind.API,
                export_name=name,
                wire_name=name,
                input_schema=schema,
                definition=None if name in WRITES else {"method": "PUT"},
            )
            for name in (*WRITES, *PUTS)
        }
        order = ("write_a", "put_a", "write_b", "put_b", "write_c")
        steps = [
            {"stepNumber": place, "toolToRunId": str(tools[name].pk), "storeOutputAs": name}
            for place, name in enumerate(order, 1)
        ]
        sequence = factories.make_sequence(
            alice,
            wire_name="chaos",
            definition={"format": 1, "steps": steps},
            input_schema=schema,
            timeout_seconds=300,
        )
    run = Run.objects.create(
        tool=sequence,
        tool_version=sequence.versions.get(),
        user=alice,
        caller="browser",
        input={},
    )
    enqueue(run.pk)
    return run


def disturb(workers: list[Worker]) -> dict[str, int]:
    """Kill workers and their pools at random, lose the queue, restart PostgreSQL, deploy."""
    from django.conf import settings
    from django.db import connection
    from redis import Redis

    deeds: Counter[str] = Counter()
    chance = random.Random(7)
    for deed in DEEDS:
        wait_for_work(chance)
        ready = [worker for worker in workers if at_work(worker)]
        ready = ready or [worker for worker in workers if worker.pool()] or workers
        worker = chance.choice(ready)
        deeds[deed] += 1
        match deed:
            case "worker killed":
                worker.kill()
                worker.start()
            case "machine lost":
                worker.kill_whole()
                worker.start()
            case "pool process killed":
                for pid in worker.pool():
                    product.kill(pid)
            case "queue lost":
                Redis.from_url(settings.REDIS_URL).flushall()
            case "database restarted":
                restart_postgresql(Path(os.environ["OUTFITTER_VAR"]))
                connection.close()  # the one this process had went with the old server
            case "handed over":
                worker.stop()
                worker.start()
    return deeds


def wait_for_work(chance: random.Random) -> None:
    """Wait until some more runs are over, and then for a moment in the midst of others."""
    from config.lib.patience import patiently
    from sequences.models import Run

    over = Run.objects.exclude(finished_at=None)
    before = patiently(over.count)  # PostgreSQL may be on its way down or up
    product.until(lambda: over.count() >= before + 3, PATIENCE)
    product.until(Run.objects.filter(status="running").exists, seconds=5)
    time.sleep(chance.uniform(0, 0.1))


def at_work(worker: Worker) -> bool:
    """Tell whether a worker has a run."""
    from config.lib.patience import patiently
    from sequences.models import Run

    node = f"{worker.name}@test"
    running = Run.objects.filter(worker=node, status="running")
    return bool(worker.pool()) and patiently(running.exists)


def restart_postgresql(folder: Path) -> None:
    """End the server as at a restart of its machine; its keeper starts it again."""
    pid = int((folder / "postgres" / "postmaster.pid").read_text().split()[0])
    os.kill(pid, signal.SIGINT)


def resolve() -> None:
    """Say of every step in doubt what a look at the file tells."""
    from sequences.attention import step_resolve
    from sequences.models import RunStep

    done = {line.split()[2] for line in Path(os.environ[FILE]).read_text().splitlines()}
    for step in RunStep.objects.filter(status="in_doubt").select_related("run__user"):
        action = "done" if str(step.pk) in done else "retry"
        step_resolve(step, user=step.run.user, action=action)


def told(runs: list[Any]) -> dict[str, Any]:
    """Return what became of the runs, and how often each of their calls was made."""
    from sequences.models import Run, RunStep

    ids = [run.pk for run in runs]
    calls = Counter(Path(os.environ[FILE]).read_text().splitlines())
    rows = RunStep.objects.filter(run__in=ids)
    return {
        "runs": Counter(Run.objects.filter(pk__in=ids).values_list("status", flat=True)),
        "codes": Counter(
            (run.error or {}).get("code", "")
            for run in Run.objects.filter(pk__in=ids).exclude(status="succeeded")
        ),
        "steps": Counter(rows.values_list("status", flat=True)),
        "twice": [line for line, times in calls.items() if times > 1 and " write" in line],
        "repeated": sum(times - 1 for times in calls.values()),
        "uncalled": sum(
            f"{row.run_id} {row.tool_name} {row.pk}" not in calls
            for row in rows.filter(status="succeeded")
        ),
        "short": [
            str(run.pk)
            for run in Run.objects.filter(pk__in=ids, status="succeeded")
            if run.steps.filter(status="succeeded").count() != 5
        ],
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
