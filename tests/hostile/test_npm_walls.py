"""The same attacks with every permission Deno has: the kernel's walls hold by themselves.

Deno's permissions are the second layer. This suite takes them away, so that a hole in Deno would
still be no way out.
"""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from registry.sandbox.client import Artifact
from registry.sandbox.paths import DEFAULT_UID
from registry.sandbox.service import javascript
from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.process import Guest, GuestFailure
from registry.sandbox.service.profile import Profile
from registry.sandbox.service.runtime import Runtime, find_runtime
from tests.hostile.test_npm import ATTACKS, package
from tests.hostile.witness import Witness
from tests.registry.sandbox.npm_registry import SCOPE
from tests.registry.sandbox.service import as_user

__all__ = ["package"]

pytestmark = pytest.mark.sandbox

# Without Deno's permissions these return something, and it is nothing of the host's.
HARMLESS = {
    "askForNetwork": "granted",
    "askForRights": "run",
    "loadLibrary": "loaded",
    "loadLibraryByPath": "loaded",
    "workerWithMoreRights": "read",
    "inspectService": "sent",  # to the first process of its own namespace
    "writeCodeCache": "wrote /cache/evil",  # the call's own copy
}
SECONDS = 3.0
AT_ONCE = 4
AIMED = [name for family, name in ATTACKS if family in ("files", "network", "processes")]

Ending = dict[str, Any]


def unguarded(runtime: Runtime, artifact: Path) -> Profile:
    """Return the worker's profile with `--allow-all` in place of its permissions."""
    profile = javascript.worker(runtime, artifact)
    kept = [part for part in profile.command if not part.startswith(("--allow-", "--deny-"))]
    return replace(profile, command=(*kept[:-1], "--allow-all", kept[-1]))


def attack_all(store: Path, key: str, told: Any) -> dict[str, Ending]:
    """Try every attack in a sandbox of its own; returns attack → `{escaped?, refused?, ended?}`."""
    artifact = store / "artifacts" / key

    async def attack(runtime: Runtime, name: str) -> Ending:
        async with await Guest.start(runtime, unguarded(runtime, artifact)) as guest:
            load = {"name": f"{SCOPE}/attacks", "env": {}, "options": {}}
            await guest.request("load", load, seconds=120)
            arguments = {"export": "attempt", "arguments": {"name": name, "witness": told}}
            try:
                answer = await guest.request("call", arguments, seconds=SECONDS)
            except (ServiceError, GuestFailure, TimeoutError) as error:
                return {"ended": str(error)}
            output: Ending = answer.result["output"]
            return output

    async def attack_some_at_a_time() -> dict[str, Ending]:
        runtime, places = find_runtime(store), asyncio.Semaphore(AT_ONCE)

        async def try_one(name: str) -> Ending:
            async with places:
                return await attack(runtime, name)

        endings = await asyncio.gather(*map(try_one, AIMED))
        return dict(zip(AIMED, endings, strict=True))

    return asyncio.run(attack_some_at_a_time())


@pytest.fixture(scope="module")
def endings(witness: Witness, package: Artifact) -> dict[str, Ending]:
    """How every attack ended."""
    store = witness.service.folder / "store"
    return as_user(DEFAULT_UID, attack_all, store, package.artifact, witness.told)


@pytest.mark.parametrize("name", AIMED)
def test_the_walls_hold_without_denos_permissions(
    witness: Witness, endings: dict[str, Ending], name: str
) -> None:
    witness.check()
    assert witness.secret not in str(endings[name])
    assert endings[name].get("escaped") in (None, HARMLESS.get(name)), endings[name]
