"""`make bench`: what the spine costs, as ratios against a named baseline in the same run."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from subprocess import PIPE

import pytest
from deno import find_deno_bin
from rank_bm25 import BM25Okapi

from registry.builtins import BUILTINS
from registry.context import CallContext
from registry.execution import invoke
from registry.loading import load_spec
from registry.models import Invocation
from registry.models.invocation import Caller
from registry.search.bm25 import Index
from tests.benchmarks.measure import Row, compare, compare_values, measured, report
from tests.factories import make_builtin
from tests.registry.sandbox.npm_registry import SCOPE
from tests.registry.sandbox.service import RunningService, becomes_true, running_service

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


@pytest.fixture(scope="module")
def without_spares(npm_settings):
    """A sandbox service that starts a process for each call."""
    with running_service({**npm_settings, "SANDBOX_SPARES": "0"}) as service:
        yield service


def npm_call(client):
    """Build a real package; return a function that calls its tool."""
    package = client.build(ecosystem="npm", name="@tpmjs/tools-html-to-markdown", version="0.1.0")
    export = client.describe(artifact=package.artifact).tools[0].export
    arguments = {"html": "<h1>Hi</h1>"}
    return lambda: client.call(
        artifact=package.artifact, export=export, arguments=arguments, env={}
    )


def spare_is_ready(client):
    """Wait until a call would find a spare and nothing else goes on."""
    assert becomes_true(lambda: client.status()["spares"]["ready"] > 0)
    time.sleep(0.1)


@pytest.mark.sandbox
def test_a_warm_call_against_a_fresh_process(sandbox_service, without_spares):
    client = sandbox_service.client
    warm = npm_call(client)
    warm()
    held(
        compare(
            "call an npm tool, sandboxed, warm",
            warm,
            "the same in a fresh sandbox",
            npm_call(without_spares.client),
            target=0.35,
            before=lambda: spare_is_ready(client),
        )
    )


@pytest.mark.sandbox
def test_a_warm_call_against_a_process_without_walls(sandbox_service):
    client = sandbox_service.client
    built = client.build(ecosystem="npm", name=f"{SCOPE}/remembers")

    def warm():
        client.call(artifact=built.artifact, export="counts", arguments={}, env={})

    warm()
    folder = sandbox_service.folder / "store" / "artifacts" / built.artifact / "pkg"
    with unsandboxed(folder / "entry.mjs") as call:
        held(
            compare(
                "call a trivial tool, sandboxed, warm",
                warm,
                "in one process for all, without walls",
                lambda: call("counts"),
                target=60,
                before=lambda: spare_is_ready(client),
            )
        )


@contextmanager
def unsandboxed(entry):
    """Import a package into a lasting process with every right; yields how to call its tools."""
    script = (
        "const { load } = await import(Deno.args[0]); const tools = await load();"
        "console.log('ready');"
        "const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream());"
        "for await (const line of lines)"
        " console.log(JSON.stringify(await tools[line.trim()].execute({})));"
    )
    with tempfile.NamedTemporaryFile("w", suffix=".mjs") as file:
        file.write(script)
        file.flush()
        options = ["-A", "--no-lock", "--no-config", "--node-modules-dir=manual"]
        command = [find_deno_bin(), "run", *options, file.name, entry.as_uri()]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            for line in process.stdout:
                if line == "ready\n":
                    break

            def call(export):
                process.stdin.write(f"{export}\n")
                process.stdin.flush()
                return process.stdout.readline()

            try:
                yield call
            finally:
                process.kill()


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
