"""What the walls around a package cost, against a fresh process and against no walls at all."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, Popen

import pytest
from deno import find_deno_bin

from registry import errors
from registry.sandbox.client import LocalSandbox
from tests.benchmarks.measure import Baseline, compare, held, in_turns, measured, rows_of
from tests.benchmarks.spares import AT_REST, at_rest
from tests.registry.sandbox.npm_registry import SCOPE
from tests.registry.sandbox.service import RunningService, becomes_true

pytestmark = [pytest.mark.bench, pytest.mark.sandbox]

FRESH = "a fresh sandbox for each call"
NO_WALLS = "one process for all, without walls"
HUNG = 16
BURST = 16

DENO = [find_deno_bin(), "run", "-A", "--no-lock", "--no-config", "--node-modules-dir=manual"]
UNWALLED_JS = """
const { load } = await import(Deno.args[0]); const tools = await load();
const [name, input] = [Deno.args[1], Deno.args[2]];
console.log("ready");
const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream());
for await (const _ of lines) {
  console.log(JSON.stringify(await tools[name].execute(JSON.parse(input), {})));
}
"""
UNWALLED_PYTHON = """
import importlib, json, sys
sys.path += [f"{sys.argv[1]}/src", f"{sys.argv[1]}/site"]
tool = getattr(importlib.import_module(sys.argv[2]), sys.argv[3])
print("ready", flush=True)
for _ in sys.stdin:
    print(json.dumps(tool(**json.loads(sys.argv[4]))), flush=True)
"""


@dataclass(frozen=True)
class Tool:
    """A tool to call: where it comes from, its name and its arguments as JSON and as values."""

    ecosystem: str
    package: str
    export: str
    arguments: dict[str, object]
    version: str | None = None

    def on(self, client: LocalSandbox) -> tuple[str, Callable[[], object]]:
        """Build the package; return its artifact, and the function that calls the tool."""
        built = client.build(ecosystem=self.ecosystem, name=self.package, version=self.version)
        return built.artifact, lambda: client.call(
            artifact=built.artifact, export=self.export, arguments=self.arguments, env={}
        )


JS = Tool("npm", f"{SCOPE}/remembers", "counts", {})
JS_HEAVY = Tool("npm", f"{SCOPE}/heavy", "add", {"a": 1})
JS_REAL = Tool("npm", "@tpmjs/tools-html-to-markdown", "default", {"html": "<h1>Hi</h1>"}, "0.1.0")
PYTHON = Tool("local", "light", "add", {"a": 1})
PYTHON_HEAVY = Tool("local", "heavy", "add", {"a": 1})


@contextmanager
def without_walls(tool: Tool, folder: Path) -> Iterator[Callable[[], object]]:
    """Import a package into a lasting process with every right; yields how to call its tool."""
    import json

    given = json.dumps(tool.arguments)
    if tool.ecosystem == "npm":
        script = folder / "bench.mjs"
        script.write_text(UNWALLED_JS)
        command = [*DENO, str(script), (folder / "pkg/entry.mjs").as_uri(), tool.export, given]
    else:
        own = [str(folder / "pkg"), tool.package, tool.export, given]
        command = [sys.executable, "-I", "-S", "-c", UNWALLED_PYTHON, *own]
    with Popen(command, stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdin and process.stdout
        stdin, stdout = process.stdin, process.stdout
        assert any(line == "ready\n" for line in stdout)

        def call() -> str:
            stdin.write("\n")
            stdin.flush()
            return stdout.readline()

        try:
            yield call
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("name", "tool", "limit", "of_fresh", "of_no_walls"),
    [
        ("call a JavaScript tool, warm", JS, 5, 0.1, 30),
        ("call one that imports ai and zod, warm", JS_HEAVY, 8, 0.1, 30),
        ("call html-to-markdown, warm", JS_REAL, 8, 0.1, 30),
        ("call a Python tool, warm", PYTHON, 5, 0.1, 40),
        ("call one that imports pydantic and httpx, warm", PYTHON_HEAVY, 8, 0.08, 60),
    ],
)
def test_a_warm_call(
    sandbox_service: RunningService,
    without_spares: RunningService,
    name: str,
    tool: Tool,
    limit: float,
    of_fresh: float,
    of_no_walls: float,
):
    client = sandbox_service.client
    artifact, warm = tool.on(client)
    _, fresh = tool.on(without_spares.client)
    folder = sandbox_service.folder / "store" / "artifacts" / artifact
    with without_walls(tool, folder) as unwalled:
        compare(
            name,
            warm,
            Baseline(FRESH, fresh, of_fresh),
            Baseline(NO_WALLS, unwalled, of_no_walls),
            limit=limit,
            before=at_rest(client, artifact),
        )
    client.forget(artifact)


def test_the_first_call_of_a_tool(sandbox_service: RunningService):
    client = sandbox_service.client
    artifact, call = JS_REAL.on(client)
    folder = sandbox_service.folder / "store" / "artifacts" / artifact

    def forget() -> None:
        client.forget(artifact)
        time.sleep(AT_REST)

    def unwalled() -> None:
        with without_walls(JS_REAL, folder) as call_it:
            call_it()

    compare(
        "first call of an npm tool, cold",
        call,
        Baseline("a fresh Deno, without walls", unwalled, 1.5),
        limit=200,
        before=forget,
    )
    client.forget(artifact)


def test_a_call_beside_calls_that_hang(sandbox_service: RunningService):
    client = sandbox_service.client
    artifact, call = PYTHON.on(client)
    hanging, _ = JS.on(client)
    alone = in_turns({"": settled(call, client, artifact)})[""]
    cancel = threading.Event()

    def hang() -> None:
        with pytest.raises(errors.CallCancelled):
            client.call(artifact=hanging, export="hangs", arguments={}, env={}, cancel=cancel)

    with ThreadPoolExecutor(HUNG) as pool:
        hung = [pool.submit(hang) for _ in range(HUNG)]
        try:
            assert becomes_true(lambda: client.status()["running"] == HUNG, seconds=60)
            time.sleep(1)  # until the last of them has been started
            beside = in_turns({"": settled(call, client, artifact)})[""]
        finally:
            cancel.set()
        for each in hung:
            each.result()
    client.forget(hanging)
    name = f"call a Python tool beside {HUNG} that hang"
    held(rows_of(name, {"": beside, "alone": alone}, {"alone": 3}, 5))


def settled(call: Callable[[], object], client: LocalSandbox, artifact: str) -> Callable[[], float]:
    """Return what measures one call that finds a spare at rest."""
    call()
    wait = at_rest(client, artifact)

    def act() -> float:
        wait()
        return measured(call)

    return act


@pytest.mark.parametrize("callers", [1, 4])
@pytest.mark.parametrize(("language", "tool"), [("JavaScript", JS_HEAVY), ("Python", PYTHON)])
def test_a_burst(
    sandbox_service: RunningService,
    without_spares: RunningService,
    language: str,
    tool: Tool,
    callers: int,
):
    runs: dict[str, Callable[[], float]] = {}
    for name, service in (("", sandbox_service), (FRESH, without_spares)):
        _, call = tool.on(service.client)
        call()
        runs[name] = burst(call, callers)
    medians = {name: min(run() for _ in range(2)) for name, run in runs.items()}
    name = f"{BURST} calls of {language} on end, {callers} at once: each"
    held(rows_of(name, medians, {FRESH: 1.5}, None))


def burst(call: Callable[[], object], callers: int) -> Callable[[], float]:
    """Return what makes many calls as fast as it can, and says how long each took of the whole."""

    def run() -> float:
        with ThreadPoolExecutor(callers) as pool:
            return measured(lambda: list(pool.map(lambda _: call(), range(BURST)))) / BURST

    return run
