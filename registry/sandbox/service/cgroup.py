"""Bound what all processes of one sandbox use together, with a cgroup of its own.

The service makes its part of the tree while it still is root (or in a part that was delegated to
its user), and hands it to its user. Without one the kernel's limits per process still hold; the
status page says so.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from registry.sandbox.service.limits import MB, Limits

PREFIX = "outfitter-sandbox-"
MOUNTS = Path("/proc/self/mountinfo")
MEMBERSHIP = Path("/proc/self/cgroup")
# What a sandbox uses besides the memory of its limits and of /tmp: its copy of the code cache, and
# pages of the runtime's own files.
BESIDES_MB = 128


@dataclass(frozen=True, slots=True)
class Cell:
    """The cgroup of one sandbox: a folder in each hierarchy that is used."""

    folders: Mapping[str, Path]
    unified: bool

    def admit(self, pid: int) -> None:
        """Put a process in, with all it will start; raises `OSError`."""
        for folder in set(self.folders.values()):
            (folder / "cgroup.procs").write_text(str(pid), "ascii")

    def memory(self) -> int | None:
        """Return the bytes in use, without cached files that can be dropped; None if unknown."""
        folder = self.folders.get("memory")
        if folder is None:
            return None
        name = "memory.current" if self.unified else "memory.usage_in_bytes"
        inactive = "inactive_file" if self.unified else "total_inactive_file"
        try:
            used = int((folder / name).read_text("ascii"))
            return max(0, used - _numbers(folder / "memory.stat").get(inactive, 0))
        except (OSError, ValueError):
            return None

    def ran_out(self) -> bool:
        """Say whether the kernel has killed a process in here for want of memory."""
        folder = self.folders.get("memory")
        if folder is None:
            return False
        name = "memory.events" if self.unified else "memory.oom_control"
        with contextlib.suppress(OSError, ValueError):
            return _numbers(folder / name).get("oom_kill", 0) > 0
        return False

    def remove(self) -> bool:
        """Remove the empty cgroup; False when something is still in it."""
        for folder in set(self.folders.values()):
            try:
                folder.rmdir()
            except FileNotFoundError:
                continue
            except OSError:
                return False
        return True


class Cgroups:
    """The service's part of the cgroup tree; `roots` is empty when there is none."""

    def __init__(self, roots: Mapping[str, Path], *, unified: bool, detail: str) -> None:
        self._roots = roots
        self._unified = unified
        self._count = 0
        self.detail = detail

    @property
    def controllers(self) -> tuple[str, ...]:
        """What is bounded: of "memory" and "pids", those that can be."""
        return tuple(sorted(self._roots))

    def cell(self, limits: Limits) -> Cell | None:
        """Make the cgroup of one sandbox; None when there is no tree. Raises `OSError`."""
        if not self._roots:
            return None
        self._count += 1
        folders = {name: root / str(self._count) for name, root in self._roots.items()}
        cell = Cell(folders, self._unified)
        try:
            for folder in set(cell.folders.values()):
                folder.mkdir()
            for path, value in self._settings(cell, limits):
                path.write_text(str(value), "ascii")
        except OSError:
            cell.remove()
            raise
        return cell

    def _settings(self, cell: Cell, limits: Limits) -> Iterator[tuple[Path, int]]:
        memory, pids = cell.folders.get("memory"), cell.folders.get("pids")
        if memory is not None:
            size = (limits.memory_mb + limits.tmp_mb + BESIDES_MB) * MB
            name = "memory.max" if self._unified else "memory.limit_in_bytes"
            yield memory / name, size
            swap = memory / "memory.swap.max"
            if swap.exists():
                yield swap, 0
        if pids is not None:
            yield pids / "pids.max", limits.threads + 8  # bubblewrap's own, and prlimit


def none(detail: str) -> Cgroups:
    """Return the tree of a machine that gives us none; `detail` says why."""
    return Cgroups({}, unified=False, detail=detail)


NO_CGROUPS = none("None was asked for.")


def delegate(uid: int) -> Cgroups:
    """Make a part of the tree for user `uid`. Never fails: what cannot be had is told.

    `SANDBOX_CGROUP=off` asks for none.
    """
    if os.environ.get("SANDBOX_CGROUP", "").lower() in {"off", "0", "no", "false"}:
        return none("SANDBOX_CGROUP turns it off.")
    try:
        hierarchies = _hierarchies()
    except OSError as error:
        return none(f"The cgroup tree cannot be read ({error.strerror}).")
    unified = hierarchies.pop("", None)
    if unified and {"memory", "pids"} & set(_words(unified / "cgroup.controllers")):
        return _delegate_unified(unified, uid)
    return _delegate_legacy(hierarchies, uid)


def _delegate_legacy(hierarchies: Mapping[str, Path], uid: int) -> Cgroups:
    roots: dict[str, Path] = {}
    problems: list[str] = []
    for name in ("memory", "pids"):
        if name not in hierarchies:
            problems.append(f"there is no {name} controller")
            continue
        try:
            roots[name] = _own_folder(hierarchies[name], uid)
        except OSError as error:
            problems.append(f"{name}: {error.strerror}")
    return _outcome(roots, problems, unified=False)


def _delegate_unified(own: Path, uid: int) -> Cgroups:
    """Try below our own cgroup, then beside it: one with processes in it cannot be divided."""
    problems: list[str] = []
    for parent in (own, own.parent):
        try:
            root = _own_folder(parent, uid)
            try:
                return _outcome(_divide(parent, root, uid), problems, unified=True)
            except OSError:
                _undo(root, own)
                raise
        except OSError as error:
            problems.append(f"{parent}: {error.strerror}")
    return _outcome({}, problems, unified=True)


def _divide(parent: Path, root: Path, uid: int) -> dict[str, Path]:
    """Turn the controllers on for the children of `root`, with the service itself among them.

    Who moves a process must be able to write where its old and its new cgroup meet: at `root`.
    """
    leaf = root / "service"
    leaf.mkdir(exist_ok=True)
    _give(leaf, uid)
    (leaf / "cgroup.procs").write_text(str(os.getpid()), "ascii")
    offered = set(_words(parent / "cgroup.controllers")) & {"memory", "pids"}
    wanted = " ".join(f"+{name}" for name in sorted(offered))
    if not offered.issubset(_words(parent / "cgroup.subtree_control")):
        (parent / "cgroup.subtree_control").write_text(wanted, "ascii")
    (root / "cgroup.subtree_control").write_text(wanted, "ascii")
    return dict.fromkeys(offered, root)


def _undo(root: Path, own: Path) -> None:
    with contextlib.suppress(OSError):
        (own / "cgroup.procs").write_text(str(os.getpid()), "ascii")
    for folder in (root / "service", root):
        with contextlib.suppress(OSError):
            folder.rmdir()


def _outcome(roots: Mapping[str, Path], problems: list[str], *, unified: bool) -> Cgroups:
    """Say in words what was had and what was not."""
    kind = "cgroup v2" if unified else "cgroup v1"
    if not roots:
        why = "; ".join(problems) or "no controller is offered"
        return none(f"None could be had ({kind}; {why}).")
    missing = f" ({'; '.join(problems)})" if problems and not unified else ""
    return Cgroups(
        roots, unified=unified, detail=f"{kind} bounds {' and '.join(sorted(roots))}{missing}."
    )


def _own_folder(parent: Path, uid: int) -> Path:
    """Make our folder below `parent` and hand it to the user; sweep those of services that ended.

    One with our own number is of such a service too: numbers of processes come again, and its
    cells would be taken for ours. Raises `OSError`.
    """
    folder = parent / f"{PREFIX}{os.getpid()}"
    for old in parent.glob(f"{PREFIX}*"):
        if old == folder or not Path("/proc", old.name.removeprefix(PREFIX)).exists():
            _sweep(old)
    folder.mkdir(exist_ok=True)
    _give(folder, uid)
    return folder


def _sweep(folder: Path) -> None:
    """Remove a folder and its children where they are empty; another service may be at it too."""
    children: list[Path] = []
    with contextlib.suppress(OSError):
        children = [*folder.glob("*/")]
    for path in (*children, folder):
        with contextlib.suppress(OSError):
            path.rmdir()


def _give(folder: Path, uid: int) -> None:
    if os.geteuid() == 0:
        os.chown(folder, uid, -1)
        for name in ("cgroup.procs", "cgroup.subtree_control", "cgroup.threads"):
            with contextlib.suppress(FileNotFoundError):
                os.chown(folder / name, uid, -1)


def _hierarchies() -> dict[str, Path]:
    """Return controller → our own folder in its hierarchy; "" is cgroup v2. Raises `OSError`."""
    mounts: dict[str, tuple[str, Path]] = {}
    for line in MOUNTS.read_text("utf-8").splitlines():
        fields, _, rest = line.partition(" - ")
        _, _, _, top, place = fields.split()[:5]
        kind, _, options = rest.split(maxsplit=2)
        if kind == "cgroup2":
            mounts.setdefault("", (top, Path(place)))
        elif kind == "cgroup":
            for name in options.split(","):
                mounts.setdefault(name, (top, Path(place)))
    found = {}
    for line in MEMBERSHIP.read_text("utf-8").splitlines():
        _, names, path = line.split(":", 2)
        for name in names.split(","):
            if name in mounts:
                top, mounted_at = mounts[name]
                inside = path.removeprefix(top) if top != "/" else path
                found[name] = mounted_at / inside.lstrip("/")
    return found


def _words(path: Path) -> list[str]:
    try:
        return path.read_text("ascii").split()
    except OSError:
        return []


def _numbers(path: Path) -> dict[str, int]:
    """Read a file of `name number` lines. Raises `OSError`."""
    pairs = (line.split() for line in path.read_text("ascii").splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2}  # noqa: PLR2004
