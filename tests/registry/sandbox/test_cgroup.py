"""The cgroup of a sandbox: made by the service, holds all of it, and goes with it."""

import os
import threading
from pathlib import Path

import pytest

from registry import errors
from registry.sandbox.client import Artifact, LocalSandbox
from registry.sandbox.service import cgroup
from registry.sandbox.service.cgroup import Cgroups, delegate
from registry.sandbox.service.limits import CALL_LIMITS, MB
from registry.sandbox.service.process import crash
from registry.sandbox.service.spawn import Finished
from tests.registry.sandbox.service import (
    RunningService,
    becomes_true,
    running_service,
    workers,
)

pytestmark = pytest.mark.sandbox


@pytest.fixture
def bounded(sandbox: LocalSandbox) -> list[str]:
    """The controllers the service has; a machine that gives none cannot show what they do."""
    found: list[str] = sandbox.status()["cgroup"]["controllers"]
    if not found:
        pytest.skip(f"no cgroup here: {sandbox.status()['cgroup']['detail']}")
    return found


def folders_of(pid: str) -> list[Path]:
    """Return the cgroup folders of a process, as the kernel tells them, of the service's tree.

    One that has ended has none.
    """
    try:
        lines = Path("/proc", pid, "cgroup").read_text().splitlines()
    except OSError:
        return []
    return [Path(line.split(":", 2)[2]) for line in lines if cgroup.PREFIX in line]


def test_the_status_says_what_is_bounded_or_why_not(sandbox: LocalSandbox) -> None:
    found = sandbox.status()["cgroup"]
    assert set(found["controllers"]) <= {"memory", "pids"}
    assert found["detail"].startswith("cgroup v" if found["controllers"] else "None could be had")


def test_a_sandbox_is_in_a_cgroup_of_its_own(
    bounded: list[str], sandbox_service: RunningService, hostile: Artifact
) -> None:
    cancel = threading.Event()

    def hang() -> None:
        with pytest.raises(errors.CallCancelled):
            sandbox_service.client.call(
                artifact=hostile.artifact, export="hangs", arguments={}, env={}, cancel=cancel
            )

    thread = threading.Thread(target=hang)
    thread.start()
    try:
        found: list[list[Path]] = []

        def all_have_theirs() -> bool:
            """Look anew each time: what an earlier call left may end meanwhile."""
            found[:] = [folders_of(worker.name) for worker in workers(sandbox_service)]
            return len(found) >= 2 and all(found)

        assert becomes_true(all_have_theirs)
        numbers = {folder.name for folders in found for folder in folders}
        service = folders_of(str(sandbox_service.process.pid))
        assert numbers, "the sandbox has a numbered folder below the service's"
        assert all(name.isdigit() for name in numbers)
        assert not numbers & {folder.name for folder in service}
    finally:
        cancel.set()
        thread.join()


def test_the_cgroups_of_ended_sandboxes_are_removed(
    bounded: list[str], npm_settings: dict[str, str]
) -> None:
    with running_service({**npm_settings, "SANDBOX_SPARES": "0"}) as service:
        built = service.client.build(ecosystem="npm", name="@outfitter-test/remembers")
        for _ in range(3):
            service.client.call(artifact=built.artifact, export="counts", arguments={}, env={})
        # Not `rglob`: it fails when a folder goes while it looks, as those of other services do.
        roots = [
            Path(parent, name)
            for parent, names, _ in os.walk("/sys/fs/cgroup")
            for name in names
            if name == f"{cgroup.PREFIX}{service.process.pid}"
        ]
        assert roots
        assert becomes_true(lambda: not [p for root in roots for p in root.glob("[0-9]*")])
        assert "could not be removed" not in service.log


def test_it_can_be_turned_off(npm_settings: dict[str, str]) -> None:
    with running_service({**npm_settings, "SANDBOX_CGROUP": "off"}) as service:
        found = service.client.status()["cgroup"]
        assert found == {"controllers": [], "detail": "SANDBOX_CGROUP turns it off."}
        built = service.client.build(ecosystem="npm", name="@outfitter-test/remembers")
        answer = service.client.call(artifact=built.artifact, export="counts", arguments={}, env={})
        assert answer.output == 1


def test_a_machine_without_cgroups_is_told_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    empty = tmp_path / "none"
    empty.write_text("")
    monkeypatch.setattr(cgroup, "MOUNTS", empty)
    monkeypatch.setattr(cgroup, "MEMBERSHIP", empty)
    found = delegate(os.geteuid())
    assert found.controllers == ()
    assert "no memory controller" in found.detail


def tree(folder: Path, *, unified: bool) -> Cgroups:
    return Cgroups({"memory": folder, "pids": folder}, unified=unified, detail="pretended")


@pytest.mark.parametrize(
    ("unified", "memory", "used"),
    [
        (True, "memory.max", "memory.current"),
        (False, "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ],
)
def test_the_limits_of_a_sandbox_are_written_for_both_versions(
    tmp_path: Path, unified: bool, memory: str, used: str
) -> None:
    cell = tree(tmp_path, unified=unified).cell(CALL_LIMITS)
    assert cell is not None
    folder = cell.folders["memory"]
    assert int((folder / memory).read_text()) > CALL_LIMITS.memory_mb * MB
    assert int((folder / "pids.max").read_text()) >= CALL_LIMITS.threads

    cell.admit(4711)
    assert (folder / "cgroup.procs").read_text() == "4711"
    (folder / used).write_text("1000\n")
    (folder / "memory.stat").write_text("inactive_file 300\ntotal_inactive_file 300\n")
    assert cell.memory() == 700


@pytest.mark.parametrize(
    ("unified", "name"), [(True, "memory.events"), (False, "memory.oom_control")]
)
def test_a_kill_for_want_of_memory_is_seen(tmp_path: Path, unified: bool, name: str) -> None:
    cell = tree(tmp_path, unified=unified).cell(CALL_LIMITS)
    assert cell is not None
    assert not cell.ran_out()
    (cell.folders["memory"] / name).write_text("low 0\noom_kill 1\n")
    assert cell.ran_out()


def test_a_sandbox_that_its_cgroup_ended_ran_out_of_memory() -> None:
    assert crash(Finished(137, "", ran_out=True)).code == "out_of_memory"
    assert crash(Finished(137, "")).code == "tool_crashed"


def test_a_unified_tree_is_divided_below_our_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = unified_tree(monkeypatch, tmp_path)

    found = delegate(os.geteuid())

    assert found.controllers == ("memory", "pids")
    assert found.detail == "cgroup v2 bounds memory and pids."
    root = own / f"{cgroup.PREFIX}{os.getpid()}"
    assert (own / "cgroup.subtree_control").read_text() == "+memory +pids"
    assert (root / "cgroup.subtree_control").read_text() == "+memory +pids"
    assert (root / "service" / "cgroup.procs").read_text() == str(os.getpid())


def test_what_an_ended_service_of_the_same_number_left_is_not_in_the_way(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = unified_tree(monkeypatch, tmp_path)
    left = own / f"{cgroup.PREFIX}{os.getpid()}" / "1"
    left.mkdir(parents=True)

    cell = delegate(os.geteuid()).cell(CALL_LIMITS)

    assert cell is not None
    assert set(cell.folders.values()) == {left}


def unified_tree(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Pretend that this process is in a cgroup of version 2; returns its folder."""
    own = folder / "user.slice"
    own.mkdir()
    (own / "cgroup.controllers").write_text("cpu memory pids\n")
    (own / "cgroup.subtree_control").write_text("")
    mounts, membership = folder / "mountinfo", folder / "cgroup"
    mounts.write_text(f"30 23 0:26 / {folder} rw shared:4 - cgroup2 cgroup2 rw\n")
    membership.write_text("0::/user.slice\n")
    monkeypatch.setattr(cgroup, "MOUNTS", mounts)
    monkeypatch.setattr(cgroup, "MEMBERSHIP", membership)
    return own
