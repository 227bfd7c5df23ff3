"""Checks of the machine: what is installed, allowed and free. They start nothing."""

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from config.diagnosis.finding import Trouble
from config.embedded.places import PROJECT, var_dir
from config.supervision.instance import running
from config.supervision.preflight import NotReadyError, check_port
from registry.sandbox.paths import readable_by, service_uid

OLDEST_PYTHON = (3, 11)
LEAST_FREE_BYTES = 1_000_000_000
PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;#]+)")
APPARMOR_SWITCH = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")


def python_version() -> str:
    """Check that the interpreter is new enough."""
    found = platform.python_version()
    if sys.version_info < OLDEST_PYTHON:
        raise Trouble(f"Python {found} is too old.", "Install Python 3.11, then `make clean venv`.")
    return f"Python {found} at {sys.executable}."


def requirements() -> str:
    """Check that the packages of requirements.txt are installed as they are pinned."""
    pins = [match for line in _requirement_lines() if (match := PIN.match(line))]
    wrong = [problem for match in pins if (problem := _mismatch(*match.groups()))]
    if wrong:
        raise Trouble(f"Not as pinned: {', '.join(wrong)}.", "Run `make venv`.")
    return f"{len(pins)} packages are installed as pinned."


def disk_space() -> str:
    """Check that the folder of run-time files has room."""
    folder = next(path for path in [var_dir(), *var_dir().parents] if path.exists())
    free = shutil.disk_usage(folder).free
    detail = f"{free / 1e9:.1f} GB are free for {var_dir()}."
    if free < LEAST_FREE_BYTES:
        raise Trouble(detail, "Free 1 GB, or name another folder with OUTFITTER_VAR.")
    return detail


def deno() -> str:
    """Check that Deno, which runs JavaScript tools, is there for the sandbox's user."""
    from deno import find_deno_bin

    try:
        path = Path(find_deno_bin())
    except FileNotFoundError:
        raise Trouble("Deno is not in the virtual environment.", "Run `make clean venv`.") from None
    if not readable_by(path, service_uid()):
        return f"{path}; the sandbox's user cannot read it there, so the service keeps a copy."
    return f"{path}."


def bubblewrap() -> str:
    """Check that bubblewrap, which isolates tools, is installed."""
    path = shutil.which("bwrap")
    if path is None:
        raise Trouble("bubblewrap is not installed.", "sudo apt-get install bubblewrap")
    return f"{path}."


def user_namespaces() -> str:
    """Check that the sandbox's user may make a namespace of its own."""
    path = shutil.which("bwrap")
    if path is None:
        raise Trouble("Not known without bubblewrap.", "sudo apt-get install bubblewrap")
    uid = service_uid() if os.geteuid() == 0 else None
    done = subprocess.run(
        [path, "--unshare-user", "--ro-bind", "/", "/", "--chdir", "/", "true"],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        user=uid,
        group=uid,
        extra_groups=None if uid is None else [],
    )
    if done.returncode != 0:
        raise Trouble(f"Refused: {done.stderr.strip()}", _namespace_fix())
    return "They are allowed."


def port() -> str:
    """Check that the web server's port is free, or taken by this product."""
    note = running()
    if note is not None:
        return f"Outfitter runs at {note}."
    host, number = os.environ.get("HOST", "127.0.0.1"), os.environ.get("PORT", "8000")
    try:
        check_port(host, int(number))
    except (NotReadyError, ValueError) as error:
        raise Trouble(str(error), "Choose another with PORT=….") from error
    return f"{host}:{number} is free."


MACHINE_CHECKS: dict[str, Callable[[], str]] = {
    "python": python_version,
    "requirements": requirements,
    "disk": disk_space,
    "port": port,
    "deno": deno,
    "bubblewrap": bubblewrap,
    "user_namespaces": user_namespaces,
}


def _requirement_lines() -> list[str]:
    return (PROJECT / "requirements.txt").read_text().splitlines()


def _mismatch(name: str, wanted: str) -> str:
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        return f"{name} (missing)"
    return "" if found == wanted else f"{name} {found} instead of {wanted}"


def _namespace_fix() -> str:
    if APPARMOR_SWITCH.exists() and APPARMOR_SWITCH.read_text().strip() == "1":
        return (
            "AppArmor forbids them (Ubuntu 24.04): give bwrap a profile with `userns,`, or run "
            "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"
        )
    return (
        "sudo sysctl user.max_user_namespaces=15000 kernel.unprivileged_userns_clone=1; in a "
        "container, allow them in its seccomp profile."
    )
