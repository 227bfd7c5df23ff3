"""Find the programs and libraries a sandbox is made of.

It runs as the service's own unprivileged user, so what it finds is what that user can really use.
"""

import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from config.lib.addresses import Allowed, parse_allowed
from registry.sandbox.service.cgroup import NO_CGROUPS, Cgroups
from registry.sandbox.service.interpreter import Interpreter, find_interpreter
from registry.sandbox.service.store import find_uv, installed_deno
from registry.sandbox.service.syscalls import ARCHITECTURES

# glibc before 2.34 loads name resolution from these when a program first asks for a name.
RESOLVER_LIBRARIES = ("libnss_dns.so.2", "libnss_files.so.2", "libresolv.so.2")
# The first bubblewrap with --disable-userns; with an older one seccomp alone refuses namespaces.
DISABLE_USERNS_VERSION = (0, 8)


class Missing(Exception):
    """A part of the sandbox is not there; says which, why and the command that gets it."""

    def __init__(self, name: str, detail: str, fix: str) -> None:
        self.name = name
        self.detail = detail
        self.fix = fix
        super().__init__(detail)


@dataclass(frozen=True, slots=True)
class Runtime:
    """The programs, libraries and folders that every sandbox shares.

    `net_allow` lists the networks of the operator's own that may be reached all the same;
    `egress_trouble` says why no tool may have any network here, and is empty when it may;
    `python_trouble` says the same of Python, where there is one.
    """

    bwrap: Path
    prlimit: Path
    deno: Path
    deno_version: str
    python: Interpreter | None
    uv: Path | None
    guest: Path
    etc: Path
    libraries: tuple[Path, ...]
    disable_userns: bool
    machine: str
    cgroups: Cgroups
    net_allow: tuple[Allowed, ...] = ()
    egress_trouble: str = ""
    python_trouble: str = ""


def find_runtime(store: Path, cgroups: Cgroups = NO_CGROUPS) -> Runtime:
    """Find everything a sandbox needs; raises `Missing` for the first thing that is not there."""
    machine = platform.machine()
    if machine not in ARCHITECTURES:
        known = ", ".join(sorted(ARCHITECTURES))
        raise Missing("machine", f"There is no system call filter for {machine}.", f"Use {known}.")
    if not os.access(store / "builds", os.W_OK | os.X_OK):
        detail = f"User {os.geteuid()} cannot write to the artifact store {store}."
        raise Missing("store", detail, "Set SANDBOX_STORE to a folder it can reach, and restart.")
    bwrap = _program("bwrap", package="bubblewrap")
    prlimit = _program("prlimit", package="util-linux")
    binary = _deno(store)
    return Runtime(
        bwrap=bwrap,
        prlimit=prlimit,
        deno=binary,
        deno_version=_version(binary),
        python=find_interpreter(store),
        uv=find_uv(store),
        guest=store / "runtime" / "guest",
        etc=store / "runtime" / "etc",
        libraries=libraries_of(binary, prlimit),
        disable_userns=_numbers(_version(bwrap)) >= DISABLE_USERNS_VERSION,
        machine=machine,
        net_allow=_net_allow(),
        cgroups=cgroups,
    )


def _net_allow() -> tuple[Allowed, ...]:
    """Return the networks that tools with network may reach beside the public ones."""
    try:
        return parse_allowed(os.environ.get("SANDBOX_NET_ALLOW", ""))
    except ValueError as error:
        fix = "Write networks (10.0.0.0/8) and addresses (10.1.2.3:8080), separated by commas."
        raise Missing("network", f"SANDBOX_NET_ALLOW cannot be read: {error}", fix) from error


def _program(name: str, package: str) -> Path:
    found = shutil.which(name)
    if found is None:
        raise Missing(name, f"`{name}` is not installed.", f"sudo apt-get install -y {package}")
    return Path(found)


def _deno(store: Path) -> Path:
    copy = store / "runtime" / "deno"
    binary = copy if copy.exists() else installed_deno()
    if binary is None or not os.access(binary, os.X_OK):
        detail = f"Deno is not installed, or user {os.geteuid()} may not run it ({binary})."
        raise Missing("deno", detail, "pip install -r requirements.txt, then restart the service")
    return binary


def _version(program: Path) -> str:
    done = _run(program, "--version")
    found = re.search(r"\d+(\.\d+)+", done.stdout)
    if done.returncode != 0 or found is None:
        detail = f"`{program} --version` failed: {done.stderr.strip()[:200]}"
        raise Missing(program.name, detail, f"Reinstall {program.name}.")
    return found[0]


def _run(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(program), *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=20)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def libraries_of(*programs: Path) -> tuple[Path, ...]:
    """Return the loader and shared libraries of the programs, as the loader itself resolves them.

    Includes the libraries glibc loads by name to resolve host names, where they exist.
    """
    ldd = _program("ldd", package="libc-bin")
    found: dict[Path, None] = {}
    for program in programs:
        done = _run(ldd, str(program))
        for path in re.findall(r"(/\S+) \(0x[0-9a-f]+\)", done.stdout):
            found[Path(path)] = None
    if not found:
        names = ", ".join(map(str, programs))
        raise Missing("libraries", f"`ldd` names no libraries of {names}.", "Use glibc's Deno.")
    folders = {path.parent for path in found}
    beside = [folder / name for folder in folders for name in RESOLVER_LIBRARIES]
    return (*found, *(path for path in beside if path.exists() and path not in found))
