"""Spares: made ready before a call, handed out once, and never to another tenant."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from registry import errors
from registry.sandbox.client import Artifact, LocalSandbox
from tests.registry.sandbox.npm_registry import SCOPE
from tests.registry.sandbox.service import (
    RunningService,
    becomes_true,
    paused_workers,
    running_service,
)

pytestmark = pytest.mark.sandbox

SECRET = "sk-test-" + "5" * 40
Run = Callable[..., Any]


@pytest.fixture(scope="module")
def service(npm_settings: dict[str, str]) -> Iterator[RunningService]:
    """A service of this file's own, so that its spares are nobody else's."""
    with running_service({**npm_settings, "SANDBOX_SPARES": "4"}) as service:
        yield service


@pytest.fixture(scope="module")
def artifact(service: RunningService) -> Artifact:
    return service.client.build(ecosystem="npm", name=f"{SCOPE}/remembers")


@pytest.fixture
def run(service: RunningService, artifact: Artifact) -> Run:
    """Call a tool of the package, of which nothing is ready at first; returns its output."""
    service.client.forget(artifact.artifact)

    def call(export: str, arguments: Any = None, **more: Any) -> Any:
        more = {"env": {}, **more}
        return service.client.call(
            artifact=artifact.artifact, export=export, arguments=arguments or {}, **more
        ).output

    return call


def spares(client: LocalSandbox) -> dict[str, int]:
    found: dict[str, int] = client.status()["spares"]
    return found


def ready(service: RunningService, count: int = 1) -> bool:
    """Wait until so many spares are ready."""
    return becomes_true(lambda: spares(service.client)["ready"] >= count)


def test_a_call_leaves_a_spare_that_the_next_one_is_served_by(
    run: Run, service: RunningService
) -> None:
    run("counts")
    assert ready(service)
    before = spares(service.client)
    run("counts")
    after = spares(service.client)
    assert (after["hits"], after["misses"]) == (before["hits"] + 1, before["misses"])
    assert ready(service), "it is refilled after the result"


def test_a_spare_serves_one_call(run: Run, service: RunningService) -> None:
    answers = []
    for _ in range(6):
        assert not answers or ready(service)
        answers.append(run("counts"))
    assert answers == [1] * 6


def test_a_poisoned_process_harms_no_later_call(run: Run, service: RunningService) -> None:
    for _ in range(3):
        assert run("patches") == "patched"
        assert ready(service)
        assert run("importedWith") is None
        assert run("counts") == 1


def test_a_package_that_reads_its_environment_at_import_has_it(
    run: Run, service: RunningService
) -> None:
    for _ in range(3):
        assert run("importedWith", env={"KEY": SECRET}, tenant="1") == SECRET
        assert ready(service)
    assert run("importedWith", env={"KEY": "changed"}, tenant="1") == "changed"


def test_one_tenants_environment_is_never_another_ones(run: Run, service: RunningService) -> None:
    for _ in range(4):
        assert run("importedWith", env={"KEY": "a"}, tenant="1") == "a"
        assert run("importedWith", env={"KEY": "b"}, tenant="2") == "b"
        assert run("importedWith", env={}, tenant="1") is None


def test_equal_environments_of_two_tenants_are_two_lines(run: Run, service: RunningService) -> None:
    run("importedWith", env={"KEY": "same"}, tenant="1")
    assert ready(service)
    before = spares(service.client)
    run("importedWith", env={"KEY": "same"}, tenant="2")
    assert spares(service.client)["misses"] == before["misses"] + 1


def test_an_environment_of_nobody_in_particular_is_never_kept_ready(
    run: Run, service: RunningService
) -> None:
    before = spares(service.client)
    for _ in range(2):
        assert run("importedWith", env={"KEY": "whose"}) == "whose"
    after = spares(service.client)
    assert (after["hits"], after["misses"]) == (before["hits"], before["misses"] + 2)
    assert not [line for line in service.client.status()["lines"] if line["spares"]]


def test_no_value_of_an_environment_is_in_the_status_or_the_log(
    run: Run, service: RunningService
) -> None:
    run("importedWith", env={"KEY": SECRET}, tenant="1")
    assert SECRET not in str(service.client.status())
    assert SECRET not in service.log


def test_a_spare_does_nothing_while_it_waits(run: Run, service: RunningService) -> None:
    run("ticked")
    assert becomes_true(lambda: paused_workers(service))
    time.sleep(3)
    assert run("ticked") < 400, "its timer would have fired six hundred times"


def test_what_a_package_prints_at_import_is_told_to_the_call(
    service: RunningService, artifact: Artifact
) -> None:
    for _ in range(2):
        answer = service.client.call(
            artifact=artifact.artifact, export="counts", arguments={}, env={}
        )
        assert [line["text"] for line in answer.logs] == ["imported"]
        assert ready(service)


def test_a_tool_that_fails_leaves_a_spare_all_the_same(run: Run, service: RunningService) -> None:
    with pytest.raises(errors.ToolFailed):
        run("throws")
    assert ready(service)
    before = spares(service.client)["hits"]
    assert run("counts") == 1
    assert spares(service.client)["hits"] == before + 1


def test_a_spare_that_was_killed_is_replaced(run: Run, service: RunningService) -> None:
    run("counts")
    assert ready(service)
    assert becomes_true(lambda: paused_workers(service))
    lost = spares(service.client)["lost"]
    for folder in paused_workers(service):
        with contextlib.suppress(ProcessLookupError):  # the first takes the others along
            os.kill(int(folder.name), signal.SIGKILL)
    assert becomes_true(lambda: spares(service.client)["lost"] > lost)
    assert ready(service)
    assert run("counts") == 1


def test_the_limits_of_a_call_hold_in_a_spare(run: Run, service: RunningService) -> None:
    run("counts")
    assert ready(service)
    with pytest.raises(errors.ToolTimeout, match="did not answer within 1 seconds"):
        run("hangs", timeout_seconds=1)
    assert run("counts") == 1


def test_a_cancelled_call_in_a_spare_is_dead_when_it_returns(
    run: Run, service: RunningService
) -> None:
    run("counts")
    assert ready(service)
    assert becomes_true(lambda: len(paused_workers(service)) >= 2)
    waiting = paused_workers(service)
    cancel = threading.Event()

    def cancel_once_it_serves() -> None:
        becomes_true(lambda: set(waiting) - set(paused_workers(service)))
        cancel.set()

    watching = threading.Thread(target=cancel_once_it_serves)
    watching.start()
    with pytest.raises(errors.CallCancelled):
        run("hangs", cancel=cancel, timeout_seconds=120)
    watching.join()
    gone = [folder for folder in waiting if not folder.exists()]
    assert gone, "the spare that served the call has ended"


def test_no_call_waits_for_a_hung_neighbour(run: Run, service: RunningService) -> None:
    cancel = threading.Event()
    with ThreadPoolExecutor(16) as pool:
        more = {"cancel": cancel, "timeout_seconds": 300}
        hung = [pool.submit(run, "hangs", **more) for _ in range(16)]
        try:
            assert becomes_true(lambda: service.client.status()["running"] == 16)
            assert run("counts") == 1
            assert not any(call.done() for call in hung), "it was answered while they all hang"
        finally:
            cancel.set()
        assert all(isinstance(call.exception(), errors.CallCancelled) for call in hung)


def test_fifty_calls_at_once_all_end(run: Run, service: RunningService) -> None:
    with ThreadPoolExecutor(50) as pool:
        assert list(pool.map(lambda _: run("counts"), range(50))) == [1] * 50
    assert becomes_true(lambda: service.client.status()["running"] == 0)


def test_no_more_spares_are_kept_than_allowed(run: Run, service: RunningService) -> None:
    before = spares(service.client)["evicted"]
    for number in range(7):
        run("counts", env={"KEY": str(number)}, tenant="1")

    def full_and_renewed() -> bool:
        """Say whether so many are kept, and an older one has given way."""
        found = spares(service.client)
        return found["ready"] == 4 and found["evicted"] > before

    assert becomes_true(full_and_renewed)
    assert spares(service.client)["ready"] <= 4


def test_what_is_forgotten_is_not_handed_out(
    run: Run, service: RunningService, artifact: Artifact
) -> None:
    run("counts")
    assert ready(service)
    service.client.forget(artifact.artifact)
    status = service.client.status()
    assert status["lines"] == []
    assert becomes_true(lambda: not paused_workers(service))


def test_an_idle_spare_ends_after_its_time(npm_settings: dict[str, str]) -> None:
    settings = {**npm_settings, "SANDBOX_SPARE_SECONDS": "2"}
    with running_service(settings) as service:
        built = service.client.build(ecosystem="npm", name=f"{SCOPE}/remembers")

        def leaves_a_spare() -> bool:
            """Call once more: the time runs from a call's beginning, not from the spare's."""
            service.client.call(artifact=built.artifact, export="counts", arguments={}, env={})
            return becomes_true(lambda: paused_workers(service), seconds=4)

        assert becomes_true(leaves_a_spare, seconds=90)
        assert becomes_true(lambda: spares(service.client)["ready"] == 0)
        assert becomes_true(lambda: not paused_workers(service))


def test_spares_do_not_outlive_the_service(npm_settings: dict[str, str]) -> None:
    with running_service(npm_settings, exit_code=-9) as service:
        built = service.client.build(ecosystem="npm", name=f"{SCOPE}/remembers")
        service.client.call(artifact=built.artifact, export="counts", arguments={}, env={})
        assert becomes_true(lambda: paused_workers(service))
        service.process.kill()
        service.process.wait()
        assert becomes_true(lambda: not paused_workers(service))


def test_a_service_that_restarts_during_a_call_is_named(npm_settings: dict[str, str]) -> None:
    with running_service(npm_settings, exit_code=-9) as service:
        built = service.client.build(ecosystem="npm", name=f"{SCOPE}/remembers")

        def kill_during_the_call() -> None:
            becomes_true(lambda: service.client.status()["running"])
            service.process.kill()

        killing = threading.Thread(target=kill_during_the_call)
        killing.start()
        with pytest.raises(errors.SandboxUnavailable, match="ended before it answered"):
            service.client.call(
                artifact=built.artifact,
                export="hangs",
                arguments={},
                env={},
                timeout_seconds=120,
            )
        killing.join()
        service.process.wait()


def test_collect_removes_what_nothing_refers_to(npm_settings: dict[str, str]) -> None:
    with running_service(npm_settings) as service:
        client = service.client
        kept = client.build(ecosystem="npm", name=f"{SCOPE}/remembers")
        left = client.build(ecosystem="npm", name=f"{SCOPE}/scripted")
        client.call(artifact=kept.artifact, export="counts", arguments={}, env={})

        assert client.collect([kept.artifact]).removed == (), "they are younger than a day"
        collected = client.collect([kept.artifact], min_age_seconds=0)

        assert collected.removed == (left.artifact,)
        assert collected.freed_bytes == left.size_bytes
        assert [path.name for path in artifacts(service)] == [kept.artifact]
        with pytest.raises(errors.ArtifactMissing):
            client.describe(artifact=left.artifact)
        again = client.build(ecosystem="npm", name=f"{SCOPE}/scripted")
        assert again.artifact == left.artifact


def test_collect_leaves_what_a_call_is_using(npm_settings: dict[str, str]) -> None:
    with running_service(npm_settings) as service, ThreadPoolExecutor(1) as pool:
        client = service.client
        built = client.build(ecosystem="npm", name=f"{SCOPE}/remembers")
        cancel = threading.Event()
        hung = pool.submit(
            lambda: client.call(
                artifact=built.artifact, export="hangs", arguments={}, env={}, cancel=cancel
            )
        )
        assert becomes_true(lambda: client.status()["running"] == 1)
        assert client.collect([], min_age_seconds=0).removed == ()
        cancel.set()
        assert isinstance(hung.exception(), errors.CallCancelled)
        assert becomes_true(lambda: client.status()["running"] == 0)
        assert client.collect([], min_age_seconds=0).removed == (built.artifact,)


def artifacts(service: RunningService) -> list[Path]:
    return list((service.folder / "store" / "artifacts").iterdir())


@pytest.mark.parametrize("name", ["SANDBOX_MEMORY_MB", "SANDBOX_SPARES", "SANDBOX_SPARE_SECONDS"])
def test_a_setting_that_is_no_number_is_named(name: str) -> None:
    from registry.sandbox.service.capacity import capacity_of_operator

    with pytest.raises(SystemExit, match=f"{name} must be a whole number"):
        capacity_of_operator({name: "much"})
