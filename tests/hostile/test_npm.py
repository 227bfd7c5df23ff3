"""Attacks of an npm package. None succeeds, and the next honest call works as ever.

The attacks themselves are in `tests/registry/sandbox/packages/attacks/`, one function each. While
they run, somebody else's call of the same package holds a secret.
"""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from registry.errors import ToolError
from registry.sandbox.client import Artifact, LocalSandbox
from tests.hostile.neighbour import Neighbour, calling_neighbour
from tests.hostile.python_attacks import FAMILIES, LEAST, LONG_SECONDS, SHORT_SECONDS
from tests.hostile.witness import Witness
from tests.registry.sandbox.npm_registry import PACKAGES, SCOPE
from tests.registry.sandbox.service import becomes_true, workers

pytestmark = pytest.mark.sandbox

FORGED = {"protocol_violation"}
STOPPED = {"tool_timeout", "cpu_limit"}
STARVED = {"out_of_memory", "tool_crashed", *STOPPED}
ENDED = {"tool_crashed"}

# How the service ends an attack that does not simply come back refused.
ENDINGS: dict[str, set[str]] = {
    **dict.fromkeys(
        (
            "spin",
            "spinInMicrotasks",
            "spinInTimers",
            "neverAnswer",
            "backtrack",
            "makeFilesWithoutEnd",
            "ignoreSignals",
        ),
        STOPPED,
    ),
    **dict.fromkeys(("fillHeap", "fillString"), STARVED),
    **dict.fromkeys(("endAtOnce", "abort", "killItself"), ENDED),
    "answerTooMuch": {"output_too_large"},
    "answerFarTooMuch": {"output_too_large"},
    "answerTooDeep": FORGED,
    "logWithoutEnd": FORGED,
    "writeErrorsWithoutEnd": {"tool_crashed", *STOPPED},
    "sendLongLine": {"output_too_large"},
    "sendHalfALineAndEnd": ENDED | FORGED,
    "closeOutput": ENDED | STOPPED,
}
# These may also end the process, depending on which limit they meet first.
MAY_END: dict[str, set[str]] = {
    "makeFoldersWithoutEnd": STARVED,
    "startThreadsWithoutEnd": STARVED,
    "openWithoutEnd": STARVED,
    "keepExitHandler": STOPPED,
    "fillOneFile": ENDED,
    # Deno itself ends at a socket that the system call filter refuses, and where a worker's memory
    # does not fit beside the package's.
    "sendDatagram": {"tool_failed"},
    "connectVirtualMachine": ENDED,
    "listenInItsPlace": {"network_denied"},
    **dict.fromkeys(
        (
            "fillBuffers",
            "fillWasmMemory",
            "fillSharedBuffers",
            "fillSharedWasmMemory",
            "workerFromHost",
            "workerWithMoreRights",
            "threadWithOtherOptions",
            "keepWorker",
        ),
        STARVED,
    ),
    "fillTemporaryFolder": STARVED,
}
SECONDS = dict.fromkeys(("makeFilesWithoutEnd", "writeErrorsWithoutEnd", "backtrack"), 1.0) | {
    "fillHeap": 4.0  # V8 collects garbage for a long time before it gives up
}
MEMORY_SECONDS = 30.0


def attacks_of(file: str) -> list[str]:
    """Return the names of the attacks in one file of the package."""
    source = (PACKAGES / "attacks" / file).read_text()
    return re.findall(r"^  (\w+)(?=: |\(\) \{)", source.partition("export default {")[2], re.M)


ATTACKS = [
    (file.stem, name)
    for file in sorted((PACKAGES / "attacks").glob("*.js"))
    if file.stem != "index"
    for name in attacks_of(file.name)
]


@pytest.fixture(scope="module")
def package(witness: Witness) -> Artifact:
    """The built package of attacks."""
    return witness.service.client.build(ecosystem="npm", name=f"{SCOPE}/attacks")


@pytest.fixture(scope="module")
def neighbour(witness: Witness, package: Artifact) -> Iterator[Neighbour]:
    """Somebody else's call of the same package, which holds a secret."""

    is_running = partial(workers, witness.service)
    with calling_neighbour(witness.service.client, package, is_running) as neighbour:
        yield neighbour


@pytest.fixture
def sandbox(witness: Witness, package: Artifact, neighbour: Neighbour) -> Iterator[LocalSandbox]:
    """The service; afterwards nothing has come through and an honest call sees nothing of it."""
    client = witness.service.client
    yield client
    witness.check()
    neighbour.check()
    assert not any(Path(path).exists() for path in ("/tmp/left", "/tmp/evil", "/tmp/kv", "/evil"))
    answer = client.call(
        artifact=package.artifact, export="honest", arguments={"value": [1, None]}, env={}
    )
    assert answer.output == {
        "value": [1, None],
        "secret": None,
        "left": [],
        "patched": None,
        "shared": None,
        "json": '{"a":1}',
    }


def seconds_for(name: str) -> float:
    """Give an attack that is to be stopped little time, and others enough."""
    endings = ENDINGS.get(name, set())
    if name not in SECONDS and STARVED in (endings, MAY_END.get(name)):
        return MEMORY_SECONDS
    return SECONDS.get(name, SHORT_SECONDS if endings & STOPPED else LONG_SECONDS)


@pytest.mark.parametrize(("family", "name"), ATTACKS, ids=[name for _, name in ATTACKS])
def test_an_attack_fails_and_the_next_honest_call_works(
    witness: Witness,
    neighbour: Neighbour,
    sandbox: LocalSandbox,
    package: Artifact,
    family: str,
    name: str,
) -> None:
    expected = ENDINGS.get(name) or (FORGED if family == "protocol" else set())
    ending, output = "", None
    try:
        answer: Any = sandbox.call(
            artifact=package.artifact,
            export="attempt",
            arguments={"name": name, "witness": witness.told},
            env={},
            timeout_seconds=seconds_for(name),
        )
        output = answer.output
    except ToolError as error:
        ending = error.code
        assert witness.secret not in str(error.as_dict())
        neighbour.check(error.as_dict())
    assert witness.secret not in str(output)
    neighbour.check(output)
    if expected:
        assert ending in expected, (ending, output)
    elif ending:
        assert ending in MAY_END.get(name, set()), ending
    else:
        assert output["escaped"] is None, output


def test_the_table_holds_every_attack_of_the_package(
    sandbox: LocalSandbox, package: Artifact
) -> None:
    answer = sandbox.call(artifact=package.artifact, export="names", arguments={}, env={})
    assert sorted(answer.output) == sorted(name for _, name in ATTACKS)
    assert len(ATTACKS) >= LEAST
    assert {family for family, _ in ATTACKS} == FAMILIES


def test_no_process_is_left_behind_but_the_neighbours(
    witness: Witness, sandbox: LocalSandbox
) -> None:
    assert becomes_true(lambda: len(workers(witness.service)) <= 2)
