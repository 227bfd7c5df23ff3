"""Measure runs on a durable server of our own, and print what was measured as JSON.

Run as `python -m tests.benchmarks.durable FOLDER` in the environment of
`tests.durability.product.environment`. Times are milliseconds.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from tests.durability import product

STEPS, MANY = 10, 1_000
ROUNDS = 15


def main(folder: Path) -> None:
    """Measure everything, and print it."""
    product.begin()
    measured = {
        "step": in_turns(lambda: step_of("sync"), lambda: rows_of("sync")),
        **through_workers(folder),
    }
    print(json.dumps(measured))  # noqa: T201 -- this is its answer


@cache
def change_case() -> Any:
    """Return the built-in tool that all steps call."""
    from registry.models import Tool
    from tests import factories

    known = Tool.objects.filter(export_name="change_case").first()
    return known or factories.make_builtin("change_case")


@cache
def sequence(steps: int) -> Any:
    """Make a sequence of trivial built-in steps."""
    from django.contrib.auth.models import User

    from tests import factories

    alice, _ = User.objects.get_or_create(username="alice")
    tool = change_case()
    values = {"text": "hello", "case": "upper"}
    step = {
        "toolToRunId": str(tool.pk),
        "inputMapping": {
            name: {"source": "static", "value": value} for name, value in values.items()
        },
    }
    numbered = [
        {**step, "stepNumber": number, "storeOutputAs": f"s{number}"}
        for number in range(1, steps + 1)
    ]
    final = {"text": {"source": "previousStep", "step": f"s{steps}"}}
    return factories.make_sequence(
        alice,
        wire_name=f"trivial_{steps}",
        input_schema={"type": "object", "properties": {}},
        definition={"format": 1, "steps": numbered, "finalOutputMapping": final},
        timeout_seconds=300,
    )


def new_run(steps: int = STEPS) -> Any:
    """Make a queued run that nobody is told of."""
    from sequences.models import Run

    tool = sequence(steps)
    return Run.objects.create(
        tool=tool, tool_version=tool.versions.get(), user=tool.owner, caller="browser", input={}
    )


def step_of(commits: str) -> float:
    """Return what a step takes in a worker, without the way of the message."""
    from django.conf import settings

    from sequences.tasks import execute_run

    run = new_run()
    with mock.patch.object(settings, "RUN_COMMITS", commits):
        took = timed(lambda: execute_run.apply([str(run.pk)])) / STEPS
    run.refresh_from_db()
    assert run.status == "succeeded", run.error
    return took


def rows_of(commits: str) -> float:
    """Return what a step takes of a task that merely writes two rows for it."""
    from tests.benchmarks.tasks import two_rows_a_step

    run = new_run()
    return timed(lambda: two_rows_a_step.apply([str(run.pk), STEPS])) / STEPS


def through_workers(folder: Path) -> dict[str, Any]:
    """Measure what goes through the queue, with two worker processes."""
    worker = product.Worker("bench", folder)
    with mock.patch.dict("os.environ", OUTFITTER_RUN_COMMITS="async"):
        worker.start()
    try:
        assert product.until(lambda: "ready." in worker.log(), 60)
        run_through(new_run())
        measured = {"chain": in_turns(lambda: run_through(new_run()), chain)}
    finally:
        worker.stop()
    worker = product.Worker("many", folder)
    worker.start()
    try:
        assert product.until(lambda: "ready." in worker.log(), 60)
        run_through(new_run())
        return {**measured, "many": many(), "first": first()}
    finally:
        worker.stop()


def run_through(run: Any) -> float:
    """Return the milliseconds of a step, from the queue to the end of the run."""
    from sequences.sending import enqueue

    began = time.time()
    enqueue(run.pk)
    assert product.until(lambda: is_over(run), 30)
    return float(run.finished_at.timestamp() - began) * 1000 / STEPS


def is_over(run: Any) -> bool:
    """Look whether a run is over; not so often that looking costs."""
    run.refresh_from_db(fields=["status", "finished_at"])
    return bool(run.finished_at)


def chain() -> float:
    """Return the milliseconds of a link of a chain of as many trivial tasks."""
    from celery import chain as links

    from tests.benchmarks.tasks import ended, trivial

    forget()
    began = time.time()
    links(trivial.s("hello"), *(trivial.s() for _ in range(STEPS - 2)), ended.s()).apply_async()
    return (ended_at() - began) * 1000 / STEPS


def forget() -> None:
    """Forget the tasks that ended before."""
    from django.conf import settings
    from redis import Redis

    from tests.benchmarks.tasks import TIMES

    Redis.from_url(settings.REDIS_URL).delete(TIMES)


def ended_at() -> float:
    """Return when the next of the tasks ended."""
    from django.conf import settings
    from redis import Redis

    from tests.benchmarks.tasks import TIMES

    (_, when) = Redis.from_url(settings.REDIS_URL).blpop([TIMES], 60)  # type: ignore[misc]
    return float(when)


def many() -> dict[str, Any]:
    """Queue a thousand runs at once; return how long each took of the whole, and what is lost."""
    from sequences.models import Run, RunStep
    from sequences.sending import enqueue

    steps = 3
    runs = [new_run(steps) for _ in range(MANY)]
    ids = [run.pk for run in runs]
    began = time.perf_counter()
    for run_id in ids:
        enqueue(run_id)
    done = Run.objects.filter(pk__in=ids, status="succeeded")
    product.until(lambda: done.count() == MANY, 120)
    ours = (time.perf_counter() - began) * 1000 / MANY
    rows = RunStep.objects.filter(run__in=ids, status="succeeded").count()
    from tests.benchmarks.tasks import two_rows_a_step

    bare = [new_run(steps) for _ in range(MANY)]
    forget()
    began = time.perf_counter()
    for run in bare:
        two_rows_a_step.delay(str(run.pk), steps)
    for _ in range(MANY):
        ended_at()
    theirs = (time.perf_counter() - began) * 1000 / MANY
    return {"": ours, "baseline": theirs, "lost": MANY - done.count(), "steps": rows - MANY * steps}


def first() -> float:
    """Return the milliseconds from a POST, through all of the middleware, to the first step."""
    from django.test import Client
    from django.urls import reverse

    from sequences.models import Run

    tool = sequence(STEPS)
    client = Client(headers={"host": "localhost"})
    client.force_login(tool.owner)
    took = []
    for _ in range(30):
        began = time.time()
        answer = client.post(reverse("sequences:run_start", args=[tool.pk]))
        assert answer.status_code == 302, answer.content
        run = Run.objects.latest("created_at")
        assert product.until(lambda run=run: is_over(run), 30)  # type: ignore[misc]
        step = run.steps.order_by("number").first()
        assert step is not None
        took.append((step.started_at.timestamp() - began) * 1000)
    return statistics.median(took)


def in_turns(ours: Callable[[], float], baseline: Callable[[], float]) -> dict[str, float]:
    """Return the medians of both, measured in turns."""
    ours(), baseline()
    pairs = [(ours(), baseline()) for _ in range(ROUNDS)]
    return {
        "": statistics.median(mine for mine, _ in pairs),
        "baseline": statistics.median(theirs for _, theirs in pairs),
    }


def timed(act: Callable[[], object]) -> float:
    """Return how long something takes, in milliseconds."""
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    main(Path(sys.argv[1]))
