"""What a run costs: durably recorded, through the queue, and many at once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from tests.benchmarks.measure import Row, held, rows_of
from tests.durability.product import environment

pytestmark = pytest.mark.bench

TWO_ROWS = "one Celery task that writes two rows a step"
CHAIN = "a bare Celery chain"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """What `tests.benchmarks.durable` measures, on a server that really writes to the disk."""
    folder = tmp_path_factory.mktemp("durable")
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.durable", str(folder)],
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answer: Mapping[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def compared(name: str, pair: Mapping[str, float], baseline: str, target: float) -> list[Row]:
    medians = {"": pair[""], baseline: pair["baseline"]}
    return rows_of(name, medians, {baseline: target}, None)


def test_a_step_that_is_recorded_as_it_begins_and_as_it_ends(measured: Mapping[str, Any]) -> None:
    held(compared("a step of a run, synchronous commits", measured["step"], TWO_ROWS, 1.2))


def test_a_step_from_queue_to_end_with_asynchronous_commits(measured: Mapping[str, Any]) -> None:
    held(compared("a step of a run, asynchronous commits", measured["chain"], CHAIN, 1))


def test_a_thousand_runs_at_once(measured: Mapping[str, Any]) -> None:
    many = measured["many"]
    assert (many["lost"], many["steps"]) == (0, 0)
    held(compared("1,000 runs of 3 steps on two processes: each", many, TWO_ROWS, 1.5))


def test_from_the_request_to_the_first_step(measured: Mapping[str, Any]) -> None:
    took = measured["first"]
    row = Row(
        "from the POST that starts a run to its first step", "ms", round(took, 3), "the limit", 30,
        round(took / 30, 4), 1, took <= 30, 30,
    )  # fmt: skip
    held([row])
