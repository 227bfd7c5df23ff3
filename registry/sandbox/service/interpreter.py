"""Find a CPython that the sandboxes' own user can run, or copy one for it.

An interpreter under root's home (pyenv, uv) is closed to that user. So before root is given up
`place_interpreter` looks for one that is open and otherwise copies it into the store; afterwards
`find_interpreter` says what a sandbox is to be shown. Inside, it always stands at `/usr/python`.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from registry.sandbox.paths import readable_by

HOME = "/usr/python"
OLDEST = (3, 11)
NEWEST_TRIED = 14
RECORD = "interpreter.json"
ZONES = Path("/usr/share/zoneinfo")
SEARCHED = ("/usr/lib", "/usr/lib64")
"""Where a loader looks without its cache, which a sandbox has not (that of Debian, of Fedora)."""
LEFT_OUT = shutil.ignore_patterns(
    "site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "ensurepip", "config-*"
)
# Extension modules for screens and foreign services; their libraries are many and not shown.
WITHOUT_LIBRARIES = ("_tkinter", "_curses", "readline", "_dbm", "_gdbm", "nis", "_crypt", "_test")

# Asked of each candidate in a process of its own.
PROBE = """
import json, sys, sysconfig
print(json.dumps({
    "implementation": sys.implementation.name,
    "version": sys.version_info[:3],
    "program": sys.executable,
    "prefix": sys.base_prefix,
    "stdlib": sysconfig.get_path("stdlib"),
    "platstdlib": sysconfig.get_path("platstdlib"),
}))
"""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A CPython as a sandbox sees it.

    `path` is the program inside the sandbox; `read_only` maps inside → outside; `libraries` are
    the shared libraries of the program and of its extension modules, at the same place inside;
    `program` is the one outside, which the service's user can run too.
    """

    path: str
    version: str
    program: Path
    read_only: Mapping[str, Path]
    libraries: tuple[Path, ...]


def place_interpreter(store: Path, owner: int) -> None:
    """Choose an interpreter for the user `owner` and record it below `store/runtime`.

    Call it as whoever starts the service. Without any CPython nothing is recorded.
    """
    folder = store / "runtime" / "python"
    found = [facts for program in _candidates() if (facts := _facts(program)) is not None]
    chosen = next((facts for facts in found if _open_to(facts, owner)), None)
    if chosen is None and found:
        chosen = _copied(found[0], folder)
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    record = folder / RECORD
    if chosen is None:
        record.unlink(missing_ok=True)
    else:
        record.write_text(json.dumps(chosen), encoding="utf-8")


def find_interpreter(store: Path) -> Interpreter | None:
    """Return the interpreter that was chosen for this store; None when there is none."""
    try:
        facts = json.loads((store / "runtime" / "python" / RECORD).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    program, prefix = Path(facts["program"]), Path(facts["prefix"])
    if not os.access(program, os.X_OK):
        return None
    name = f"python{facts['version'][0]}.{facts['version'][1]}"
    shown = {f"{HOME}/bin/{name}": program}
    for key in ("stdlib", "platstdlib"):
        folder = Path(facts[key])
        shown[f"{HOME}/{folder.relative_to(prefix)}"] = folder
    if ZONES.is_dir():
        shown[str(ZONES)] = ZONES
    copied = {inside: Path(outside) for inside, outside in facts.get("copied", {}).items()}
    libraries = tuple(path for path in map(Path, facts["libraries"]) if path.exists())
    shown |= copied | _searched({str(path): path for path in libraries} | copied)
    return Interpreter(
        path=f"{HOME}/bin/{name}",
        version=".".join(map(str, facts["version"])),
        program=program,
        read_only=shown,
        libraries=libraries,
    )


def _searched(libraries: Mapping[str, Path]) -> dict[str, Path]:
    """Return the libraries that the loader finds outside by its cache, by `$ORIGIN` or by an
    environment variable alone, at places where it finds them inside. libpython in the official
    Docker images is one."""
    elsewhere = [
        (Path(inside).name, outside)
        for inside, outside in libraries.items()
        if not inside.startswith(("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"))
    ]
    return {f"{folder}/{name}": path for name, path in elsewhere for folder in SEARCHED}


def _candidates() -> Iterator[Path]:
    """Yield the interpreters of this machine, that of the product itself first."""
    own = Path(getattr(sys, "_base_executable", sys.executable))
    names = ["python3", *(f"python3.{minor}" for minor in range(NEWEST_TRIED, OLDEST[1] - 1, -1))]
    folders = ("/usr/bin", "/usr/local/bin", "/opt/bin")
    tried = [own, *(Path(folder, name) for folder in folders for name in names)]
    seen: set[Path] = set()
    for path in tried:
        real = path.resolve()
        if real not in seen and os.access(real, os.X_OK):
            seen.add(real)
            yield real


def _facts(program: Path) -> dict[str, Any] | None:
    """Ask an interpreter about itself; None when it is none, or not one that can be used."""
    try:
        command = [str(program), "-I", "-S", "-B", "-c", PROBE]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=20)
        facts: dict[str, Any] = json.loads(done.stdout)
        prefix = Path(facts["prefix"])
        inside = all(Path(facts[key]).is_relative_to(prefix) for key in ("stdlib", "platstdlib"))
    except (OSError, subprocess.SubprocessError, ValueError, KeyError):
        return None
    if facts["implementation"] != "cpython" or tuple(facts["version"][:2]) < OLDEST or not inside:
        return None
    facts["program"] = str(program)
    extensions = [
        path
        for path in Path(facts["platstdlib"], "lib-dynload").glob("*.so")
        if not path.name.startswith(WITHOUT_LIBRARIES)
    ]
    facts["libraries"] = [str(path) for path in _libraries(program, *extensions)]
    return facts


def _open_to(facts: dict[str, Any], owner: int) -> bool:
    files = [facts["program"], str(Path(facts["stdlib"], "os.py")), *facts["libraries"]]
    return all(readable_by(Path(file), owner) for file in files)


def _copied(facts: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Copy an interpreter, its standard library and what of its libraries lies in its folder."""
    prefix, copy = Path(facts["prefix"]), folder / ".".join(map(str, facts["version"]))
    ours = [path for path in map(Path, facts["libraries"]) if path.is_relative_to(prefix)]
    placed = facts | {
        "prefix": str(copy),
        "program": str(copy / "bin" / Path(facts["program"]).name),
        "libraries": [path for path in facts["libraries"] if Path(path) not in ours],
        "copied": {str(path): str(copy / "libraries" / path.name) for path in ours},
    }
    for key in ("stdlib", "platstdlib"):
        placed[key] = str(copy / Path(facts[key]).relative_to(prefix))
    if copy.exists():
        Path(placed["program"]).chmod(0o755)
        return placed
    fresh = folder / "copying"
    shutil.rmtree(fresh, ignore_errors=True)
    for part in ("bin", "libraries"):
        (fresh / part).mkdir(parents=True)
    shutil.copy2(facts["program"], fresh / "bin")
    for path in ours:
        shutil.copy2(path, fresh / "libraries")
    for source in {Path(facts[key]) for key in ("stdlib", "platstdlib")}:
        shutil.copytree(source, fresh / source.relative_to(prefix), ignore=LEFT_OUT)
    for path in fresh.rglob("*"):
        path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
    fresh.chmod(0o755)
    fresh.rename(copy)
    return placed


def _libraries(*programs: Path) -> list[Path]:
    """Return the loader and shared libraries of the programs, as the loader resolves them."""
    ldd = shutil.which("ldd")
    if ldd is None:
        return []
    command = [ldd, *map(str, programs)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    found: dict[Path, None] = {}
    for line in done.stdout.splitlines():
        words = line.split()
        path = next((word for word in words if word.startswith("/")), "")
        if path and words[-1].startswith("(0x"):
            found[Path(path)] = None
    return list(found)
