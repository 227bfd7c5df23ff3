"""Attacks of a model's code. None succeeds, and the next honest program works as ever.

While they run, somebody else's program holds a secret beside them.
"""

import threading
from collections.abc import Iterator

import pytest

from registry.errors import ToolError
from registry.sandbox.client import LocalSandbox
from tests.hostile.neighbour import Neighbour, running_neighbour
from tests.hostile.python_attacks import ATTACKS, SOURCE, judge, require_enough, seconds_for
from tests.hostile.witness import Witness
from tests.registry.sandbox.service import programs

pytestmark = pytest.mark.sandbox

CODE = SOURCE.read_text()
HONEST = {"value": [1, None], "secret": None, "left": [], "patched": None, "json": '{"a": 1}'}


@pytest.fixture(scope="module")
def neighbour(witness: Witness) -> Iterator[Neighbour]:
    """Somebody else's program, which holds a secret."""

    def hold(secret: str, cancel: threading.Event) -> object:
        return witness.service.client.execute(
            f"{CODE}\nhold({secret!r})",
            {},
            timeout_seconds=300,
            cancel=cancel,
        )

    with running_neighbour(hold, lambda: programs(witness.service)) as neighbour:
        yield neighbour


@pytest.fixture
def sandbox(witness: Witness, neighbour: Neighbour) -> Iterator[LocalSandbox]:
    """The service; afterwards nothing has come through and honest code sees nothing of it."""
    client = witness.service.client
    yield client
    witness.check()
    neighbour.check()
    answer = client.execute(f"{CODE}\nhonest([1, None])", {})
    assert answer.value == HONEST


@pytest.mark.parametrize(("family", "name"), ATTACKS, ids=[name for _, name in ATTACKS])
def test_an_attack_by_code_fails_and_the_next_honest_program_works(
    witness: Witness, neighbour: Neighbour, sandbox: LocalSandbox, family: str, name: str
) -> None:
    ending, output = "", None
    program = f"{CODE}\nattempt({name!r}, {witness.told!r})"
    try:
        output = sandbox.execute(program, {}, timeout_seconds=seconds_for(name)).value
    except ToolError as error:
        ending = error.code
        assert witness.secret not in str(error.as_dict())
        neighbour.check(error.as_dict())
    assert witness.secret not in str(output)
    neighbour.check(output)
    judge(family, name, ending, output)


def test_there_are_enough_attacks(sandbox: LocalSandbox) -> None:
    require_enough(sandbox.execute(f"{CODE}\nnames()", {}).value)
