"""The profiles of Python: a package's worker, and the installing of packages with uv."""

import contextlib
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.interpreter import Interpreter, find_interpreter
from registry.sandbox.service.limits import (
    BUILD_LIMITS,
    PYTHON_LIMITS,
    PYTHON_SERVER_LIMITS,
    Limits,
)
from registry.sandbox.service.profile import Profile
from registry.sandbox.service.runtime import Runtime

keeps_cache = False  # modules are compiled while they are installed

UV = "/usr/bin/uv"
# uv maps its cache and gives each of its threads a large stack.
UV_RESERVE_MB = 2_048
# What wheels may rely on beside their own libraries (PEP 600), where the machine has it.
WHEEL_LIBRARIES = (
    *("libstdc++.so.6", "libgcc_s.so.1", "libm.so.6", "libdl.so.2", "librt.so.1", "libc.so.6"),
    *("libpthread.so.0", "libutil.so.1", "libresolv.so.2", "libz.so.1"),
    *("libnss_dns.so.2", "libnss_files.so.2"),
)
NO_PYTHON = "There is no Python 3.11 or later that the sandbox's user can run."
OTHER_PYTHON = "Install Python 3.11 or later for all users, then restart the sandbox service."
ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"}


def worker(
    runtime: Runtime,
    artifact: Path,
    *,
    limits: Limits = PYTHON_LIMITS,
    network: tuple[str, ...] = (),
    warm: bool = False,
) -> Profile:
    """Return the profile that runs a package, with no network but the hosts of `network`.

    Raises `ServiceError` when the machine has no Python for it. `warm` changes nothing.
    """
    python = interpreter_of(runtime)
    return Profile(
        command=(python.path, "-I", "-S", "-B", "/rt/python/worker.py"),
        limits=limits,
        read_only=_shown(python) | {"/rt": runtime.guest, "/pkg": artifact / "pkg"},
        environment=ENVIRONMENT,
        egress=network,
        reserve_mb=0,
    )


def server(
    runtime: Runtime,
    artifact: Path,
    *,
    command: str,
    place: str,
    arguments: tuple[str, ...],
    network: tuple[str, ...] = (),
    limits: Limits = PYTHON_SERVER_LIMITS,
) -> Profile:
    """Return the profile that runs one of a package's commands, with the walls of `worker`.

    `place` is where the command's function is: `module:function`. It begins when it has been sent
    its variables, as the first line on stdin (`command.py`).
    """
    python = interpreter_of(runtime)
    script = "/rt/python/command.py"
    return Profile(
        command=(python.path, "-I", "-S", "-B", script, place, command, *arguments),
        limits=limits,
        read_only=_shown(python) | {"/rt": runtime.guest, "/pkg": artifact / "pkg"},
        environment=ENVIRONMENT,
        egress=network,
        reserve_mb=0,
    )


def install(
    runtime: Runtime,
    arguments: tuple[str, ...],
    build: Path,
    *,
    read_only: Mapping[str, Path],
    files: Mapping[str, bytes],
    environment: Mapping[str, str],
) -> Profile:
    """Return the profile of `uv pip …` in the folder `build`: network, but no package's code runs.

    uv asks the interpreter about itself, and has it compile what it installs.
    """
    python = interpreter_of(runtime)
    if runtime.uv is None:
        message = "uv, which installs Python packages, is not there or cannot be run."
        hint = "pip install -r requirements.txt, then restart the service"
        raise ServiceError("sandbox_unavailable", message, hint)
    resolver = {
        str(path): path for path in (Path("/etc/resolv.conf"), Path("/etc/hosts")) if path.exists()
    }
    own = {
        "UV_CACHE_DIR": "/build/.uv",
        "UV_PYTHON": python.path,
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_NO_PROGRESS": "1",
        "UV_CONCURRENT_DOWNLOADS": "8",
        "UV_CONCURRENT_INSTALLS": "4",
        "RAYON_NUM_THREADS": "4",
        "NO_COLOR": "1",
        "HOME": "/home",
    }
    return Profile(
        command=(UV, "--no-config", "--quiet", "pip", *arguments),
        limits=BUILD_LIMITS,
        read_only=_shown(python) | {UV: runtime.uv} | resolver | dict(read_only),
        writable={"/build": build},
        files=files,
        environment=ENVIRONMENT | dict(environment) | own,
        folder="/build",
        host_network=True,
        processes=True,
        reserve_mb=UV_RESERVE_MB,
    )


def interpreter_of(runtime: Runtime) -> Interpreter:
    """Return the interpreter of the sandboxes; raises `ServiceError` when none works there."""
    if runtime.python is None:
        raise ServiceError("sandbox_unavailable", NO_PYTHON, OTHER_PYTHON)
    if runtime.python_trouble:
        raise ServiceError("sandbox_unavailable", runtime.python_trouble, OTHER_PYTHON)
    return runtime.python


def compile_guest(store: Path) -> None:
    """Compile the guest's modules with the chosen interpreter; failure costs only time."""
    interpreter = find_interpreter(store)
    if interpreter is None:
        return
    guest = store / "runtime" / "guest" / "python"
    command = [str(interpreter.program), "-I", "-S", "-m", "compileall", "-q", str(guest)]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        subprocess.run(command, check=False, capture_output=True, timeout=60)


@cache
def _wheel_libraries(folders: frozenset[Path]) -> dict[str, Path]:
    return {str(path): path for path in _existing(folders)}


def _existing(folders: frozenset[Path]) -> Iterator[Path]:
    for folder in folders:
        for name in WHEEL_LIBRARIES:
            if (folder / name).exists():
                yield folder / name


def _shown(python: Interpreter) -> dict[str, Path]:
    own = {str(path): path for path in python.libraries}
    folders = frozenset(path.parent for path in python.libraries)
    return _wheel_libraries(folders) | own | dict(python.read_only)
