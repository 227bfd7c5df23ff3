"""Packages that lie in wait in a process made ready beforehand, and learn of one call only.

Each process serves one call. So whatever a package does while it is imported, it sees one question
and nothing of those before, after or beside it.
"""

import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from registry.errors import ToolError
from registry.sandbox.client import Artifact, LocalSandbox
from registry.sandbox.contract import CallOutput
from tests.hostile import attacks
from tests.hostile.witness import Witness
from tests.registry.sandbox.npm_registry import SCOPE
from tests.registry.sandbox.service import becomes_true

pytestmark = pytest.mark.sandbox

LURKER = Path(attacks.__file__).parent / "lurker.py"
CALLS = 6


@dataclass
class Package:
    """A built package that lies in wait, and how its second tool is called."""

    client: LocalSandbox
    artifact: Artifact
    answers_itself: str

    def call(self, export: str, value: str, secret: str = "", seconds: float = 60) -> CallOutput:
        """Call a tool, with a secret of the tenant's own if there is one."""
        return self.client.call(
            artifact=self.artifact.artifact,
            export=export,
            arguments={"value": value} if export == "tell" else {},
            env={"SECRET": secret} if secret else {},
            tenant=value,
            timeout_seconds=seconds,
        )

    def hits(self) -> int:
        """Return how many calls got a process that had been made ready."""
        lines = self.client.status()["lines"]
        return sum(line["hits"] for line in lines if line["artifact"] == self.artifact.artifact)

    def ready(self) -> bool:
        """Say whether a process is ready for the next call without a secret."""
        lines = self.client.status()["lines"]
        return any(line["spares"] for line in lines if line["artifact"] == self.artifact.artifact)


@pytest.fixture(params=["javascript", "python"])
def package(request: Any, witness: Witness, python_tools: Path) -> Iterator[Package]:
    """The package in each language."""
    client = witness.service.client
    if request.param == "python":
        shutil.copyfile(LURKER, python_tools / "lurker.py")
        artifact = client.build(ecosystem="local", name="lurker")
        yield Package(client, artifact, "answers_itself")
    else:
        artifact = client.build(ecosystem="npm", name=f"{SCOPE}/lurks")
        yield Package(client, artifact, "answersItself")
    witness.check()


def check(answer: CallOutput, number: int, secret: str = "") -> None:
    """Fail when a call saw anything of another one, or its log has anything of another one."""
    output = answer.output
    assert output["imported"] == 1
    assert output["found"] == []
    assert output["secret"] == (secret or None)
    assert f"value-{number}-" in output["seen"], "or nothing has been listening"
    told = str(output) + str(answer.logs)
    others = [other for other in range(CALLS) if other != number]
    assert not any(f"value-{other}-" in told or f"secret-{other}-" in told for other in others)


def test_a_process_made_ready_sees_the_question_of_one_call_only(package: Package) -> None:
    for number in range(CALLS):
        check(package.call("tell", f"value-{number}-"), number)
        assert becomes_true(package.ready)
    assert package.hits() >= CALLS - 1, "or nothing has lain in wait"


def test_calls_at_the_same_time_see_nothing_of_each_other(package: Package) -> None:
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            for _ in range(2):
                secret = f"secret-{number}-"
                check(package.call("tell", f"value-{number}-", secret), number, secret)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=[number]) for number in range(CALLS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_secret_of_one_tenant_is_in_no_process_of_another(package: Package) -> None:
    package.call("tell", "value-0-", "secret-0-")
    for number, secret in ((1, "secret-1-"), (2, ""), (3, "secret-3-")):
        check(package.call("tell", f"value-{number}-", secret), number, secret)


def test_a_call_that_answers_itself_answers_for_nobody_else(package: Package) -> None:
    ended: list[Any] = []

    def forge() -> None:
        try:
            answer = package.call(package.answers_itself, "forger", seconds=2)
        except ToolError as error:
            ended.append(error.code)
        else:
            ended.append(answer.output)

    threads = [threading.Thread(target=forge) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(3):
        check(package.call("tell", f"value-{number}-"), number)
    for thread in threads:
        thread.join()
    # Its own answer is its own to give; that it sends another one beside it ends the process.
    assert set(ended) <= {"forged", "protocol_violation", "tool_timeout"}
    check(package.call("tell", "value-0-"), 0)
