"""Where the sandbox service lives."""

import os
import socket
from pathlib import Path

import pytest

from registry.sandbox.paths import (
    DEFAULT_UID,
    SYSTEM_STORES,
    choose_store,
    readable_by,
    service_uid,
    short_address,
    socket_path,
)
from tests.registry.sandbox.service import open_folder

STRANGER = 54321


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SANDBOX_SOCKET", "SANDBOX_STORE", "SANDBOX_UID", "OUTFITTER_VAR"):
        monkeypatch.delenv(name, raising=False)


def test_the_store_is_beside_the_project_when_the_user_can_enter_it() -> None:
    with open_folder() as project:
        choice = choose_store(project=project, uid=STRANGER)
        assert choice.path == project / "var" / "sandbox" / "store"


def test_a_closed_project_has_its_store_elsewhere_and_says_why() -> None:
    with open_folder() as project:
        closed = project / "private"
        closed.mkdir(mode=0o700)
        choice = choose_store(project=closed / "clone", uid=STRANGER)
        assert choice.path.parent == SYSTEM_STORES
        assert str(closed) in choice.reason
        assert choice == choose_store(project=closed / "clone", uid=STRANGER)
        assert choice.path != choose_store(project=closed / "other", uid=STRANGER).path


def test_the_settings_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANDBOX_STORE", "/srv/store")
    monkeypatch.setenv("SANDBOX_SOCKET", "/run/x.sock")
    assert choose_store().path == Path("/srv/store")
    assert socket_path() == Path("/run/x.sock")


def test_root_never_runs_sandboxes_as_itself() -> None:
    expected = DEFAULT_UID if os.geteuid() == 0 else os.geteuid()
    assert service_uid() == expected


def test_a_file_in_a_closed_folder_is_not_readable_by_others() -> None:
    with open_folder() as folder:
        file = folder / "file"
        file.touch(mode=0o644)
        assert readable_by(file, STRANGER)
        file.chmod(0o640)
        assert not readable_by(file, STRANGER)
        file.chmod(0o644)
        folder.chmod(0o700)
        assert not readable_by(file, STRANGER)
        assert readable_by(file, os.geteuid())
        assert not readable_by(folder / "absent", os.geteuid())


def test_a_socket_in_a_very_deep_folder_can_be_used(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["deep" * 10] * 5)
    deep.mkdir(parents=True)
    path = deep / "sandboxd.sock"
    with (
        socket.socket(socket.AF_UNIX) as listener,
        socket.socket(socket.AF_UNIX) as client,
    ):
        with short_address(path) as address:
            listener.bind(address)
        listener.listen()
        assert path.is_socket()
        with short_address(path) as address:
            client.connect(address)
