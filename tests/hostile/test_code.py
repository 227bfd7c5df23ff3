"""Attacks of a model's code. None succeeds, and the next honest program works as ever."""

from collections.abc import Iterator

import pytest

from registry.errors import ToolError
from registry.sandbox.client import LocalSandbox
from tests.hostile.python_attacks import ATTACKS, SOURCE, judge, seconds_for
from tests.hostile.witness import Witness

pytestmark = pytest.mark.sandbox

CODE = SOURCE.read_text()
HONEST = {"value": [1, None], "secret": None, "left": [], "patched": None, "json": '{"a": 1}'}


@pytest.fixture
def sandbox(witness: Witness) -> Iterator[LocalSandbox]:
    """The service; afterwards nothing has come through and honest code sees nothing of it."""
    client = witness.service.client
    yield client
    witness.check()
    answer = client.execute(f"{CODE}\nhonest([1, None])", {})
    assert answer.value == HONEST


@pytest.mark.parametrize(("family", "name"), ATTACKS, ids=[name for _, name in ATTACKS])
def test_an_attack_by_code_fails_and_the_next_honest_program_works(
    witness: Witness, sandbox: LocalSandbox, family: str, name: str
) -> None:
    ending, output = "", None
    program = f"{CODE}\nattempt({name!r}, {witness.told!r})"
    try:
        output = sandbox.execute(program, {}, timeout_seconds=seconds_for(name)).value
    except ToolError as error:
        ending = error.code
        assert witness.secret not in str(error.as_dict())
    assert witness.secret not in str(output)
    judge(family, name, ending, output)


def test_there_are_enough_attacks() -> None:
    assert len(ATTACKS) >= 60
