"""What a program costs that a model wrote, and what each of its calls does."""

from __future__ import annotations

import subprocess
import sys
from subprocess import PIPE

import pytest

from tests.benchmarks.measure import Baseline, compare, held, in_turns, measured, rows_of
from tests.benchmarks.spares import at_rest
from tests.registry.sandbox.service import RunningService

pytestmark = [pytest.mark.bench, pytest.mark.sandbox]

PROGRAMS = "code"
"""What the status of the service calls the interpreters for programs."""

# What an interpreter for programs has imported already.
PRELOADED = (
    "import asyncio, base64, collections, csv, datetime, decimal, fractions, hashlib, json, math, "
    "random, re, statistics, string, textwrap, typing, uuid"
)

# A call that a program makes, measured inside it: the median of many, in milliseconds.
INNER_CALLS = """
import statistics, time
took = []
for _ in range(300):
    started = time.perf_counter()
    await nothing()
    took.append(time.perf_counter() - started)
statistics.median(took) * 1000
"""


def test_a_program_in_an_interpreter_that_is_ready(
    sandbox_service: RunningService, without_spares: RunningService
):
    client = sandbox_service.client

    def warm():
        assert client.execute("1 + 1", {}).value == 2

    def unwalled():
        command = [sys.executable, "-I", "-c", f"{PRELOADED}; print(1 + 1)"]
        return subprocess.run(command, check=True, stdout=PIPE)

    compare(
        "run 1 + 1 as a program, warm",
        warm,
        Baseline("a fresh sandbox", lambda: without_spares.client.execute("1 + 1", {}), 0.15),
        Baseline("a fresh Python, without walls", unwalled, 0.15),
        limit=3,
        before=at_rest(client, PROGRAMS),
    )


def test_a_call_that_a_program_makes(sandbox_service: RunningService):
    client = sandbox_service.client

    def inner() -> float:
        answer = client.execute(INNER_CALLS, {"nothing": lambda arguments, cancel: None})
        return float(str(answer.value))

    wait = at_rest(client, PROGRAMS)

    def program() -> float:
        wait()
        return measured(lambda: client.execute("1 + 1", {}))

    name, baseline = "call a tool from a program: transport", "a program of its own for it"
    medians = in_turns({"": inner, baseline: program})
    held(rows_of(name, medians, {baseline: 0.3}, 0.3))
