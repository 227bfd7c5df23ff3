"""The self-test can fail, the limits hold, and the guest's end is told as what it was."""

import asyncio
import signal
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from registry.sandbox.client import Artifact
from registry.sandbox.paths import DEFAULT_UID
from registry.sandbox.service import engine, javascript, pythontest, selftest
from registry.sandbox.service.capacity import Capacity
from registry.sandbox.service.cgroup import NO_CGROUPS
from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.limits import Limits
from registry.sandbox.service.process import Guest, crash
from registry.sandbox.service.python import interpreter_of
from registry.sandbox.service.runtime import find_runtime
from registry.sandbox.service.spawn import Finished
from tests.registry.sandbox.npm_registry import SCOPE
from tests.registry.sandbox.service import RunningService, as_user

pytestmark = pytest.mark.sandbox


def escapes(store: Path, secret: str, weakened: dict[str, Any]) -> list[str]:
    """Send the canary into a sandbox whose profile was changed; returns what it could do."""

    async def examine() -> list[str]:
        runtime = find_runtime(store)
        profile = replace(javascript.canary(runtime), **weakened)
        async with await Guest.start(runtime, profile) as guest:
            answer = await guest.request("examine", {"secret": secret}, seconds=120)
        found: list[str] = answer.result["escapes"]
        return found

    return asyncio.run(examine())


@pytest.mark.parametrize(
    ("secret", "weakened", "expected"),
    [
        (__file__, {}, []),
        (__file__, {"host_network": True}, ["make an IPv4 socket", "make an IPv6 socket"]),
        ("/etc/passwd", {}, ["read a file of the host"]),
    ],
)
def test_the_canary_notices_every_hole(
    sandbox_service: RunningService, secret: str, weakened: dict[str, Any], expected: list[str]
) -> None:
    store = sandbox_service.folder / "store"
    assert as_user(DEFAULT_UID, escapes, store, secret, weakened) == expected


SOUND = {
    "Uid": "64001\t64001\t64001\t64001",
    "CapEff": "0000000000000000",
    "CapPrm": "0000000000000000",
    "CapBnd": "0000000000000000",
    "Seccomp": "2",
    "NoNewPrivs": "1",
}


@pytest.mark.parametrize(
    ("seen", "status", "name"),
    [
        ({"escapes": ["fork"]}, {}, "walls"),
        ({}, {}, "walls"),
        (None, {}, "walls"),
        ({"escapes": []}, {"Uid": "0\t0\t0\t0"}, "user"),
        ({"escapes": []}, {"CapEff": "0000000000000400"}, "capabilities"),
        ({"escapes": []}, {"CapBnd": "000001ffffffffff"}, "capabilities"),
        ({"escapes": []}, {"Seccomp": "0"}, "system calls"),
        ({"escapes": []}, {"NoNewPrivs": "0"}, "new privileges"),
    ],
)
def test_one_hole_is_enough_to_close_the_sandbox(
    seen: Any, status: dict[str, str], name: str
) -> None:
    checks = selftest.judge(seen, SOUND | status)
    assert [check.name for check in checks if not check.ok] == [name]
    assert all(check.fix for check in checks if not check.ok)


def report(trouble: str) -> selftest.Report:
    """Return the outcome of a self-test after which the network is closed, or nothing."""
    runtime: Any = SimpleNamespace(egress_trouble=trouble, python_trouble="")
    return selftest.Report((), runtime)


async def test_a_network_that_was_closed_in_a_busy_moment_is_opened_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = iter([report("no answer in time"), selftest.Report((), None), report("")])

    async def run(*_: object) -> selftest.Report:
        return next(told)

    monkeypatch.setattr(selftest, "run", run)
    monkeypatch.setattr(engine, "RETEST_SECONDS", 0.0)
    served = engine.Engine(tmp_path, {}, Capacity(1000, 0, 1), NO_CGROUPS)
    assert not (await served.report()).is_whole
    async with asyncio.timeout(60):
        while not (seen := await served.report()).is_whole:
            assert seen.ok, "what works is not closed by a later test that is too slow"
            await asyncio.sleep(0)
    assert (await served.report()).is_whole


async def test_a_network_that_is_closed_is_not_tried_at_every_call(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tried = []

    async def run(*_: object) -> selftest.Report:
        tried.append(1)
        return report("the kernel said no.")

    monkeypatch.setattr(selftest, "run", run)
    served = engine.Engine(tmp_path, {}, Capacity(1000, 0, 1), NO_CGROUPS)
    for _ in range(5):
        assert not (await served.report()).is_whole
        await asyncio.sleep(0)
    assert len(tried) == 1


def test_nothing_seen_from_outside_closes_the_sandbox() -> None:
    assert not any(check.ok for check in selftest.judge({"escapes": []}, {})[:-1])
    assert all(check.ok for check in selftest.judge({"escapes": []}, SOUND))


def python_trouble(store: Path, shown: bool) -> tuple[str, str]:
    """Start Python, with or without its library; returns what is told then and to who wants it."""
    runtime = find_runtime(store)
    assert runtime.python is not None
    if not shown:
        runtime = replace(runtime, python=replace(runtime.python, read_only={}))
    trouble = asyncio.run(pythontest.trouble(runtime))
    try:
        interpreter_of(replace(runtime, python_trouble=trouble))
    except ServiceError as error:
        return trouble, f"{error.code}: {error.message}"
    return trouble, ""


def test_a_python_that_does_not_start_behind_the_walls_is_closed_and_told(
    sandbox_service: RunningService,
) -> None:
    store = sandbox_service.folder / "store"
    assert as_user(DEFAULT_UID, python_trouble, store, True) == ("", "")
    trouble, told = as_user(DEFAULT_UID, python_trouble, store, False)
    assert "does not start in a sandbox" in trouble
    assert told == f"sandbox_unavailable: {trouble}"


def spin(store: Path, key: str) -> str:
    """Let a tool use the processor without end; returns the code of what stopped it."""

    async def call() -> str:
        runtime = find_runtime(store)
        folder = store / "artifacts" / key
        profile = javascript.worker(runtime, folder, limits=Limits(cpu_seconds=2))
        async with await Guest.start(runtime, profile) as guest:
            await guest.request("load", {"name": f"{SCOPE}/hostile", "env": {}}, seconds=120)
            try:
                await guest.request("call", {"export": "spins", "arguments": {}}, seconds=120)
            except ServiceError as error:
                return error.code
        return "nothing"

    return asyncio.run(call())


def test_processor_time_is_limited(sandbox_service: RunningService, hostile: Artifact) -> None:
    store = sandbox_service.folder / "store"
    assert as_user(DEFAULT_UID, spin, store, hostile.artifact) == "cpu_limit"


@pytest.mark.parametrize(
    ("code", "stderr", "expected", "words"),
    [
        (3, "", "tool_crashed", "exit code 3"),
        (128 + signal.SIGSEGV, "", "tool_crashed", "SIGSEGV"),
        (128 + 99, "", "tool_crashed", "exit code 227"),
        (128 + signal.SIGXCPU, "", "cpu_limit", "processor time"),
        (133, "Fatal JavaScript out of memory: x", "out_of_memory", "more memory"),
        (134, "memory allocation of 64 bytes failed", "out_of_memory", "more memory"),
    ],
)
def test_the_end_of_a_process_is_told_as_what_it_was(
    code: int, stderr: str, expected: str, words: str
) -> None:
    error = crash(Finished(code, stderr))
    assert error.code == expected
    assert words in error.message
