"""The service itself: who may speak to it, when it refuses, and what happens when it ends."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from registry import errors
from registry.sandbox.client import Artifact, LocalSandbox
from registry.sandbox.paths import PROJECT
from tests.registry.sandbox.npm_registry import SCOPE
from tests.registry.sandbox.service import (
    RunningService,
    as_user,
    becomes_true,
    open_folder,
    running_service,
    workers,
)

pytestmark = pytest.mark.sandbox

STRANGER = 54321
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def connect(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(60)
    connection.connect(str(path))
    return connection


def path_of(service: RunningService) -> Path:
    return service.folder / "sandboxd.sock"


def hang(service: RunningService, artifact: Artifact) -> socket.socket:
    """Start a call that never answers; returns its connection once the worker runs."""
    params = {"artifact": artifact.artifact, "export": "hangs", "timeout_seconds": 300}
    connection = connect(path_of(service))
    request = {"jsonrpc": "2.0", "id": 1, "method": "call", "params": params}
    connection.sendall(json.dumps(request).encode() + b"\n")
    assert becomes_true(lambda: workers(service))
    return connection


def test_its_state_is_told(sandbox: LocalSandbox) -> None:
    status = sandbox.status()
    assert status["tier"] == "bwrap"
    assert status["ok"] is True
    assert status["deno"]
    assert {check["name"] for check in status["checks"]} >= {"walls", "capabilities", "user"}
    assert all(set(check) == {"name", "ok", "detail", "fix"} for check in status["checks"])


def test_an_absent_service_is_said_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(errors.SandboxUnavailable, match="does not answer") as caught:
        LocalSandbox(tmp_path / "none.sock").status()
    assert "doctor" in caught.value.hint


@needs_root
def test_a_stranger_is_not_served(sandbox_service: RunningService) -> None:
    assert as_user(STRANGER, ask_status, path_of(sandbox_service)) == b""


@needs_root
def test_a_user_who_is_allowed_is_served(npm_settings: dict[str, str]) -> None:
    with running_service(npm_settings, arguments=["--allow-uid", str(STRANGER)]) as service:
        assert b'"tier"' in as_user(STRANGER, ask_status, path_of(service))


def ask_status(path: Path) -> bytes:
    with connect(path) as connection:
        try:
            connection.sendall(b'{"jsonrpc": "2.0", "id": 1, "method": "status"}\n')
            return connection.recv(65_536)
        except (BrokenPipeError, ConnectionResetError):
            return b""


@needs_root
def test_a_strangers_socket_is_not_trusted_with_anything() -> None:
    with open_folder() as folder:
        folder.chmod(0o777)
        path = folder / "sandboxd.sock"
        ready, done = threading.Event(), threading.Event()
        thread = threading.Thread(target=pretend, args=(path, ready, done))
        thread.start()
        assert ready.wait(60)
        try:
            with pytest.raises(errors.SandboxUnavailable, match="Another user's program"):
                LocalSandbox(path).status()
        finally:
            done.set()
            thread.join()


def pretend(path: Path, ready: threading.Event, done: threading.Event) -> None:
    """Keep a stranger's process listening at the path until told to stop."""
    heard, said = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setresuid(STRANGER, STRANGER, STRANGER)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            path.chmod(0o666)
            listener.listen()
            os.write(said, b"!")  # its address is there before anybody is let in
            listener.accept()[0].recv(1)
        os._exit(0)
    os.close(said)
    if os.read(heard, 1):
        ready.set()
    os.close(heard)
    done.wait(60)
    os.kill(pid, 9)
    os.waitpid(pid, 0)


@pytest.mark.parametrize(
    "line", [b"hello\n", b"[]\n", b'{"method": 1}\n', b'{"method": "call", "id": "x"}\n']
)
def test_a_client_that_speaks_nonsense_is_dropped_and_nobody_else(
    sandbox_service: RunningService, line: bytes
) -> None:
    with connect(path_of(sandbox_service)) as connection:
        connection.sendall(line)
        assert connection.recv(1) == b""
    assert sandbox_service.client.status()["ok"]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("nothing", {}),
        ("build", {"ecosystem": "npm"}),
        ("build", {"ecosystem": "npm", "name": 1}),
        ("call", {"artifact": "0" * 64, "export": "x", "arguments": []}),
    ],
)
def test_a_wrong_request_is_answered_with_an_error(
    sandbox_service: RunningService, method: str, params: dict[str, object]
) -> None:
    with connect(path_of(sandbox_service)) as connection:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        connection.sendall(json.dumps(request).encode() + b"\n")
        assert "error" in json.loads(connection.recv(65_536))


def test_a_value_of_the_environment_is_never_repeated(
    sandbox: LocalSandbox, hostile: Artifact
) -> None:
    secret = "sk-\0-secret"
    with pytest.raises(errors.ToolError) as caught:
        sandbox.call(artifact=hostile.artifact, export="echo", arguments={}, env={"KEY": secret})
    assert "secret" not in json.dumps(caught.value.as_dict())
    assert "KEY" in caught.value.message


def test_arguments_without_measure_are_not_even_sent(
    sandbox: LocalSandbox, hostile: Artifact
) -> None:
    with pytest.raises(errors.InvalidArguments, match="larger than 4 MB"):
        sandbox.call(
            artifact=hostile.artifact, export="echo", arguments={"x": "x" * (5 << 20)}, env={}
        )


def test_a_client_that_leaves_takes_its_call_with_it(
    sandbox_service: RunningService, hostile: Artifact
) -> None:
    hang(sandbox_service, hostile).close()
    assert becomes_true(lambda: not workers(sandbox_service))
    assert becomes_true(lambda: sandbox_service.client.status()["running"] == 0)


def test_clients_that_leave_while_their_call_starts_leave_nothing_behind(
    npm_settings: dict[str, str],
) -> None:
    with running_service(npm_settings) as service:
        hostile = service.client.build(ecosystem="npm", name=f"{SCOPE}/hostile")
        params = {"artifact": hostile.artifact, "export": "hangs", "timeout_seconds": 300}
        request = {"jsonrpc": "2.0", "id": 1, "method": "call", "params": params}
        for tenths in range(100):
            # From before the process exists until after it has started: some 10 ms.
            with connect(path_of(service)) as connection:
                connection.sendall(json.dumps(request).encode() + b"\n")
                threading.Event().wait(tenths / 10_000)
        assert becomes_true(lambda: service.client.status()["running"] == 0)
        assert becomes_true(lambda: not workers(service))


def test_no_sandbox_outlives_the_service(npm_settings: dict[str, str]) -> None:
    with running_service(npm_settings) as service:
        hostile = service.client.build(ecosystem="npm", name=f"{SCOPE}/hostile")
        connection = hang(service, hostile)
    with connection:
        assert becomes_true(lambda: not workers(service))


def test_a_killed_service_takes_its_sandboxes_with_it(npm_settings: dict[str, str]) -> None:
    with running_service(npm_settings, exit_code=-9) as service:
        hostile = service.client.build(ecosystem="npm", name=f"{SCOPE}/hostile")
        with hang(service, hostile):
            service.process.kill()
            service.process.wait()
            assert becomes_true(lambda: not workers(service))


def test_without_bubblewrap_everything_is_refused_until_it_is_installed(
    npm_settings: dict[str, str],
) -> None:
    with open_folder() as programs:
        settings = {**npm_settings, "PATH": str(programs)}
        with running_service(settings, ok=False) as service:
            status = service.client.status()
            assert (status["tier"], status["ok"]) == ("disabled", False)
            (check,) = status["checks"]
            assert check["fix"] == "sudo apt-get install -y bubblewrap"
            with pytest.raises(errors.SandboxUnavailable, match="`bwrap` is not installed"):
                service.client.build(ecosystem="npm", name=f"{SCOPE}/shapes")
            for name in ("bwrap", "prlimit", "ldd"):
                (programs / name).symlink_to(str(shutil.which(name)))
            assert service.client.build(ecosystem="npm", name=f"{SCOPE}/shapes").version == "1.0.0"
            assert service.client.status()["ok"]


BROKEN_BWRAP = """#!/bin/sh
[ "$1" = --version ] && echo bubblewrap 0.8.0 && exit
echo "bwrap: No permissions to create new namespace" >&2
exit 1
"""


def test_without_user_namespaces_the_command_that_allows_them_is_named(
    npm_settings: dict[str, str],
) -> None:
    with open_folder() as programs:
        broken = programs / "bwrap"
        broken.write_text(BROKEN_BWRAP)
        broken.chmod(0o755)
        settings = {**npm_settings, "PATH": f"{programs}:{os.environ['PATH']}"}
        with running_service(settings, ok=False) as service:
            failed = [check for check in service.client.status()["checks"] if not check["ok"]]
            assert [check["name"] for check in failed] == ["namespaces"]
            assert "No permissions to create new namespace" in failed[0]["detail"]
            with pytest.raises(errors.SandboxUnavailable) as caught:
                service.client.call(artifact="0" * 64, export="x", arguments={}, env={})
            assert failed[0]["fix"] in caught.value.hint


def test_a_second_service_does_not_take_the_firsts_socket(sandbox_service: RunningService) -> None:
    command = [sys.executable, "-m", "registry.sandbox.service"]
    command += ["--socket", str(path_of(sandbox_service))]
    command += ["--store", str(sandbox_service.folder / "store")]
    done = subprocess.run(
        command, check=False, cwd=PROJECT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    assert "another service already answers" in done.stderr
    assert sandbox_service.client.status()["ok"]


def test_a_socket_left_behind_is_replaced_and_may_lie_deep(npm_settings: dict[str, str]) -> None:
    with open_folder() as folder:
        path = folder.joinpath(*["deep" * 10] * 5, "sandboxd.sock")
        for _ in range(2):
            with running_service(npm_settings, socket=str(path)) as service:
                assert service.client.status()["ok"]
