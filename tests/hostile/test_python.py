"""Attacks of a Python package. None succeeds, and the next honest call works as ever.

The attacks are those of `attacks.py`, as a module of the operator's. While they run, somebody
else's call of the same package holds a secret in its environment and its arguments.
"""

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from registry.errors import ToolError
from registry.sandbox.client import Artifact, LocalSandbox
from tests.hostile.neighbour import Neighbour, calling_neighbour
from tests.hostile.python_attacks import ATTACKS, SOURCE, judge, require_enough, seconds_for
from tests.hostile.witness import Witness
from tests.registry.sandbox.service import becomes_true, python_workers

pytestmark = pytest.mark.sandbox

MODULE = "hostile_attacks"


@pytest.fixture(scope="module")
def package(witness: Witness, python_tools: Path) -> Artifact:
    """The built module of attacks."""
    shutil.copyfile(SOURCE, python_tools / f"{MODULE}.py")
    return witness.service.client.build(ecosystem="local", name=MODULE)


@pytest.fixture(scope="module")
def neighbour(witness: Witness, package: Artifact) -> Iterator[Neighbour]:
    """Somebody else's call of the same package, which holds a secret."""

    is_running = partial(python_workers, witness.service)
    with calling_neighbour(witness.service.client, package, is_running) as neighbour:
        yield neighbour


@pytest.fixture
def sandbox(witness: Witness, package: Artifact, neighbour: Neighbour) -> Iterator[LocalSandbox]:
    """The service; afterwards nothing has come through and an honest call sees nothing of it."""
    client = witness.service.client
    yield client
    witness.check()
    neighbour.check()
    answer = client.call(
        artifact=package.artifact, export="honest", arguments={"value": [1, None]}, env={}
    )
    assert answer.output == {
        "value": [1, None],
        "secret": None,
        "left": [],
        "patched": None,
        "json": '{"a": 1}',
    }


@pytest.mark.parametrize(("family", "name"), ATTACKS, ids=[name for _, name in ATTACKS])
def test_an_attack_by_a_package_fails_and_the_next_honest_call_works(
    witness: Witness,
    neighbour: Neighbour,
    sandbox: LocalSandbox,
    package: Artifact,
    family: str,
    name: str,
) -> None:
    ending: str = ""
    output: Any = None
    try:
        output = sandbox.call(
            artifact=package.artifact,
            export="attempt",
            arguments={"name": name, "witness": witness.told},
            env={},
            timeout_seconds=seconds_for(name),
        ).output
    except ToolError as error:
        ending = error.code
        assert witness.secret not in str(error.as_dict())
        neighbour.check(error.as_dict())
    assert witness.secret not in str(output)
    neighbour.check(output)
    judge(family, name, ending, output)


def test_there_are_enough_attacks(sandbox: LocalSandbox, package: Artifact) -> None:
    answer = sandbox.call(artifact=package.artifact, export="names", arguments={}, env={})
    require_enough(answer.output)


def test_no_process_is_left_behind_but_the_neighbours(
    witness: Witness, sandbox: LocalSandbox
) -> None:
    assert becomes_true(lambda: len(python_workers(witness.service)) <= 2)
