"""Find the programs and libraries a sandbox is made of, and lay out what it is shown.

`lay_out` runs first, as root when the service was started by root; `find_runtime` runs as the
service's own unprivileged user, so what it finds is what that user can really read.
"""

import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import deno

from registry.sandbox.paths import readable_by
from registry.sandbox.service.syscalls import ARCHITECTURES

GUEST = Path(__file__).parent.parent / "guest"
PROGRAM_FOLDERS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# glibc before 2.34 loads name resolution from these when a program first asks for a name.
RESOLVER_LIBRARIES = ("libnss_dns.so.2", "libnss_files.so.2", "libresolv.so.2")
# The first bubblewrap with --disable-userns; with an older one seccomp alone refuses namespaces.
DISABLE_USERNS_VERSION = (0, 8)

ETC = {
    "passwd": "sandbox:x:65534:65534::/tmp:/nonexistent\n",
    "group": "sandbox:x:65534:\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    "hosts": "127.0.0.1 localhost\n",
    "resolv.conf": "",
}


class Missing(Exception):
    """A part of the sandbox is not there; says which, why and the command that gets it."""

    def __init__(self, name: str, detail: str, fix: str) -> None:
        self.name = name
        self.detail = detail
        self.fix = fix
        super().__init__(detail)


@dataclass(frozen=True, slots=True)
class Runtime:
    """The programs, libraries and folders that every sandbox shares."""

    bwrap: Path
    prlimit: Path
    deno: Path
    deno_version: str
    guest: Path
    etc: Path
    libraries: tuple[Path, ...]
    disable_userns: bool
    machine: str


def lay_out(store: Path, owner: int) -> None:
    """Make the store's folders and copy in what the user `owner` could not read elsewhere.

    `runtime/` stays with whoever starts the service, so that under root the sandboxes' own user
    cannot change what the next sandbox is shown.
    """
    shared = store / "runtime"
    for folder in (store, shared, shared / "etc"):
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    for folder in (store / "artifacts", store / "builds"):
        folder.mkdir(mode=0o755, exist_ok=True)
        os.chown(folder, owner, -1)
    for name, text in ETC.items():
        _write(shared / "etc" / name, text)
    shutil.copytree(GUEST, shared / "guest", dirs_exist_ok=True)
    for path in shared.rglob("*"):
        path.chmod(0o755 if path.is_dir() or path.name == "deno" else 0o644)
    _place_deno(shared / "deno", owner)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o644)


def _place_deno(copy: Path, owner: int) -> None:
    binary = Path(deno.find_deno_bin())
    if readable_by(binary, owner):
        copy.unlink(missing_ok=True)
    elif not copy.exists() or copy.stat().st_size != binary.stat().st_size:
        fresh = copy.with_suffix(".new")
        shutil.copyfile(binary, fresh)
        fresh.chmod(0o755)
        fresh.replace(copy)


def find_runtime(store: Path) -> Runtime:
    """Find everything a sandbox needs; raises `Missing` for the first thing that is not there."""
    machine = platform.machine()
    if machine not in ARCHITECTURES:
        known = ", ".join(sorted(ARCHITECTURES))
        raise Missing("machine", f"There is no system call filter for {machine}.", f"Use {known}.")
    bwrap = _program("bwrap", package="bubblewrap")
    prlimit = _program("prlimit", package="util-linux")
    binary = _deno(store)
    return Runtime(
        bwrap=bwrap,
        prlimit=prlimit,
        deno=binary,
        deno_version=_version(binary),
        guest=store / "runtime" / "guest",
        etc=store / "runtime" / "etc",
        libraries=libraries_of(binary, prlimit),
        disable_userns=_numbers(_version(bwrap)) >= DISABLE_USERNS_VERSION,
        machine=machine,
    )


def _program(name: str, package: str) -> Path:
    found = shutil.which(name, path=PROGRAM_FOLDERS)
    if found is None:
        raise Missing(name, f"`{name}` is not installed.", f"sudo apt-get install -y {package}")
    return Path(found)


def _deno(store: Path) -> Path:
    copy = store / "runtime" / "deno"
    binary = copy if copy.exists() else Path(deno.find_deno_bin())
    if not os.access(binary, os.X_OK):
        detail = f"{binary} cannot be run by user {os.getuid()}."
        raise Missing("deno", detail, "pip install -r requirements.txt, then restart the service")
    return binary


def _version(program: Path) -> str:
    done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20)
    found = re.search(r"\d+(\.\d+)+", done.stdout)
    if done.returncode != 0 or found is None:
        detail = f"`{program} --version` failed: {done.stderr.strip()[:200]}"
        raise Missing(program.name, detail, f"Reinstall {program.name}.")
    return found[0]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def libraries_of(*programs: Path) -> tuple[Path, ...]:
    """Return the loader and shared libraries of the programs, as the loader itself resolves them.

    Includes the libraries glibc loads by name to resolve host names, where they exist.
    """
    found: dict[Path, None] = {}
    for program in programs:
        done = subprocess.run(["ldd", program], capture_output=True, text=True, timeout=20)
        for path in re.findall(r"(/\S+) \(0x[0-9a-f]+\)", done.stdout):
            found[Path(path)] = None
    if not found:
        raise Missing("ldd", "`ldd` names no libraries.", "sudo apt-get install -y libc-bin")
    folders = {path.parent for path in found}
    beside = [folder / name for folder in folders for name in RESOLVER_LIBRARIES]
    return (*found, *(path for path in beside if path.exists() and path not in found))
