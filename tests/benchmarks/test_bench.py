"""`make bench`: what the spine costs, as ratios against a named baseline in the same run."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from subprocess import PIPE

import pytest
from rank_bm25 import BM25Okapi

from registry.builtins import BUILTINS
from registry.context import CallContext
from registry.execution import invoke
from registry.loading import load_spec
from registry.models import Invocation
from registry.models.invocation import Caller
from registry.sandbox.client import sandbox
from registry.search.bm25 import Index
from tests.benchmarks.measure import Row, compare, compare_values, measured, report
from tests.factories import make_builtin
from tests.registry.sandbox.service import RunningService

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

pytestmark = [pytest.mark.bench, pytest.mark.django_db]

ROWS: list[Row] = []
TOOLS = 10_000


@pytest.fixture(scope="module", autouse=True)
def _table():
    yield
    report(ROWS)


def held(row: Row) -> None:
    ROWS.append(row)
    assert row.holds, f"{row.name}: {row.ratio} is above {row.target}"


def corpus() -> list[list[str]]:
    words = [f"w{n}" for n in range(5_000)]
    weights = [1 / (n + 1) for n in range(len(words))]
    chance = random.Random(1)
    return [chance.choices(words, weights, k=40) for _ in range(TOOLS)]


def test_ranking_ten_thousand_tools():
    documents = corpus()
    reference = BM25Okapi(documents)
    index = Index(idf="okapi")
    for number, terms in enumerate(documents):
        index.put(str(number), terms)
    query = documents[17][:6]

    held(
        compare(
            f"rank {TOOLS:,} tools",
            lambda: index.search(query, limit=5),
            "rank-bm25",
            lambda: reference.get_scores(query),
            target=0.25,
        )
    )


def test_a_call_of_a_built_in_through_the_door(alice):
    spec = load_spec(make_builtin("change_case"))
    context = CallContext(user=alice, caller=Caller.REST)
    arguments = {"text": "hello", "case": "upper"}

    def one_row():
        Invocation.objects.create(
            tool_id=spec.tool_id,
            tool_version=1,
            caller=Caller.REST,
            user=alice,
            outcome="succeeded",
            phase="execute",
            arguments=arguments,
            duration_ms=0,
        )
        return BUILTINS["change_case"].run(arguments)

    held(
        compare(
            "invoke() a built-in",
            lambda: invoke(spec, arguments, context),
            "the tool and its row, without the door",
            one_row,
            target=6,
            rounds=200,
        )
    )


@pytest.mark.sandbox
def test_a_call_of_an_npm_tool_in_a_fresh_sandbox(sandbox_service):
    package = sandbox().build(
        ecosystem="npm", name="@tpmjs/tools-html-to-markdown", version="0.1.0"
    )
    export = sandbox().describe(artifact=package.artifact).tools[0].export

    def call():
        return sandbox().call(
            artifact=package.artifact, export=export, arguments={"html": "<h1>Hi</h1>"}, env={}
        )

    def describe():
        return sandbox().describe(artifact=package.artifact)

    held(
        compare(
            "call an npm tool, sandboxed, cold",
            call,
            "describe it, sandboxed, without the code cache",
            describe,
            target=1.2,
            rounds=10,
        )
    )


@pytest.mark.sandbox
def test_a_program_in_an_interpreter_that_is_ready(sandbox_service: RunningService):
    client = sandbox_service.client

    def warm():
        assert client.execute("1 + 1", {}).value == 2

    def fresh():
        return subprocess.run(
            [sys.executable, "-I", "-c", f"{PRELOADED}; print(1 + 1)"], check=True, stdout=PIPE
        )

    def await_spare():
        time.sleep(0.3)  # the next interpreter is made ready after the answer

    held(
        compare(
            "run 1 + 1 as a program, sandboxed, warm",
            warm,
            "a fresh Python, not sandboxed",
            fresh,
            target=0.15,
            rounds=20,
            before=await_spare,
        )
    )


@pytest.mark.sandbox
def test_a_call_that_a_program_makes(sandbox_service: RunningService):
    client = sandbox_service.client

    def inner():
        answer = client.execute(INNER_CALLS, {"nothing": lambda arguments, cancel: None})
        return float(str(answer.value))

    def fresh():
        return measured(lambda: client.execute("1 + 1", {}))

    row = compare_values(
        "call a tool from a program: transport alone",
        inner,
        "a program of its own for each call",
        fresh,
        target=0.15,
        rounds=7,
    )
    held(row)
