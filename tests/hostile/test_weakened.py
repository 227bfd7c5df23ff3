"""The suite can fail: with one wall taken away, an attack of each family is noticed."""

import asyncio
import functools
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from registry.sandbox.client import Artifact
from registry.sandbox.paths import DEFAULT_UID
from registry.sandbox.service import javascript, python, seccomp
from registry.sandbox.service.process import Guest
from registry.sandbox.service.profile import Profile
from registry.sandbox.service.runtime import Runtime, find_runtime
from tests.hostile.python_attacks import FAMILIES, SOURCE, judge
from tests.hostile.witness import Witness, running_witness
from tests.registry.sandbox.npm_registry import SCOPE
from tests.registry.sandbox.service import RunningService, as_user

pytestmark = pytest.mark.sandbox

PLACE = "/data/canary"
Weaken = Callable[[Profile, Any], Profile]


def same(profile: Profile, _told: Any) -> Profile:
    """Leave every wall where it is."""
    return profile


def show_canary(profile: Profile, told: Any) -> Profile:
    """Mount a file of the host, and tell where."""
    shown = {**profile.read_only, PLACE: Path(told["canary"])}
    told["canary"] = PLACE
    return replace(profile, read_only=shown)


def share_network(profile: Profile, _told: Any) -> Profile:
    """Leave out the network namespace."""
    return replace(profile, host_network=True)


def allow_processes(profile: Profile, _told: Any) -> Profile:
    """Let the filter pass a fork."""
    return replace(profile, processes=True)


def raise_limits(profile: Profile, _told: Any) -> Profile:
    """Set the limits much higher."""
    return replace(profile, limits=replace(profile.limits, open_files=1024, threads=500))


def attack(store: Path, key: str, told: Any, name: str, weaken: Weaken, how: str) -> Any:
    """Try one attack in a weakened sandbox, then an honest call in the same one."""

    async def run() -> Any:
        runtime = find_runtime(store)
        profile = weaken(python.worker(runtime, store / "artifacts" / key), told)
        async with await Guest.start(runtime, profile) as guest:
            if how == "guessable ids":
                guest._last_id = -1
            load = {"name": "hostile_attacks", "env": {}, "options": {}}
            await guest.request("load", load, seconds=120)
            arguments = {"name": name, "witness": told}
            answer = await guest.request(
                "call", {"export": "attempt", "arguments": arguments}, seconds=120
            )
            if how != "one process for two calls":
                return answer.result["output"]
            honest = await guest.request(
                "call", {"export": "honest", "arguments": {"value": 1}}, seconds=120
            )
            return {"escaped": honest.result["output"]["secret"]}

    with mock.patch.object(
        seccomp, "REFUSED_FCNTLS", () if how == "no rule for files" else seccomp.REFUSED_FCNTLS
    ):
        return asyncio.run(run())


@pytest.fixture(scope="module")
def witness(sandbox_service: RunningService) -> Any:
    """Somebody of this module's own: here they are to hear something."""
    with running_witness(sandbox_service) as witness:
        yield witness


@pytest.fixture(scope="module")
def package(sandbox_service: RunningService, python_tools: Path) -> Artifact:
    """The built module of attacks."""
    shutil.copyfile(SOURCE, python_tools / "hostile_attacks.py")
    return sandbox_service.client.build(ecosystem="local", name="hostile_attacks")


HOLES = [
    ("files", "read_canary", show_canary, ""),
    ("network", "connect_host", share_network, ""),
    ("processes", "fork", allow_processes, ""),
    ("resources", "open_without_end", raise_limits, ""),
    ("protocol", "forge_first_answer", same, "guessable ids"),
    ("poison", "keep_environment", same, "one process for two calls"),
    ("neighbours", "hold_shared_files", same, "no rule for files"),
]


@pytest.mark.parametrize(("family", "name", "weaken", "how"), HOLES, ids=[h[0] for h in HOLES])
def test_a_wall_that_is_missing_is_noticed(
    witness: Witness, package: Artifact, family: str, name: str, weaken: Weaken, how: str
) -> None:
    store = witness.service.folder / "store"
    run = functools.partial(as_user, DEFAULT_UID, attack, store, package.artifact, witness.told)
    output = run(name, weaken, how)
    with pytest.raises(AssertionError):
        judge("neighbours" if family == "protocol" else family, name, "", output)
    assert output["escaped"]


def test_every_family_has_a_hole_that_is_noticed() -> None:
    assert {family for family, *_ in HOLES} == FAMILIES


def attack_javascript(store: Path, key: str, told: Any, name: str) -> Any:
    """Try one attack of the npm package with neither Deno's permissions nor two of the walls."""

    def unguarded(runtime: Runtime) -> Profile:
        profile = javascript.worker(runtime, store / "artifacts" / key)
        kept = [part for part in profile.command if not part.startswith(("--allow-", "--deny-"))]
        command = (*kept[:-1], "--allow-all", kept[-1])
        opened = replace(profile, command=command, host_network=True, processes=True)
        return show_canary(opened, told)

    async def run() -> Any:
        runtime = find_runtime(store)
        async with await Guest.start(runtime, unguarded(runtime)) as guest:
            load = {"name": f"{SCOPE}/attacks", "env": {}, "options": {}}
            await guest.request("load", load, seconds=120)
            arguments = {"export": "attempt", "arguments": {"name": name, "witness": told}}
            return (await guest.request("call", arguments, seconds=120)).result["output"]

    return asyncio.run(run())


@pytest.mark.parametrize("name", ["readCanary", "connectTcp", "startProgram"])
def test_a_wall_that_is_missing_is_noticed_by_javascript_too(witness: Witness, name: str) -> None:
    artifact = witness.service.client.build(ecosystem="npm", name=f"{SCOPE}/attacks")
    store = witness.service.folder / "store"
    run = functools.partial(attack_javascript, store, artifact.artifact, witness.told)
    assert as_user(DEFAULT_UID, run, name)["escaped"]
