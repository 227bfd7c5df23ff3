"""The one place that knows bubblewrap's flags: turns a profile into a command to start.

Every flag is here for a measured reason: `--unshare-all` fails open for user
and cgroup namespaces, so each is named; `--remount-ro /` comes last; there is no `/proc`; all
options travel over a descriptor, so that nothing of them shows in the host's process list.
"""

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from registry.sandbox.service import seccomp
from registry.sandbox.service.cgroup import Cell
from registry.sandbox.service.egress import Egress, network_environment
from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.limits import MB, Limits
from registry.sandbox.service.runtime import Runtime

NOBODY = "65534"
DEVICES = ("null", "zero", "full", "random", "urandom")
PRLIMIT = "/usr/bin/prlimit"
DENO = "/usr/bin/deno"
# Deno reserves address space beyond its heap; RLIMIT_AS would break it, RLIMIT_DATA does not.
DENO_RESERVE_MB = 512
COPIED_MB = 48

ENVIRONMENT = {"PATH": "/usr/bin", "HOME": "/tmp", "TMPDIR": "/tmp", "LANG": "C.UTF-8"}  # noqa: S108


@dataclass(frozen=True, slots=True)
class Profile:
    """What one sandbox runs and may see.

    Paths map inside → outside. `files` map inside → bytes; of a folder in `copied` the sandbox gets
    a copy of the plain files, to write to as it likes. `egress` lists the hosts it may reach.
    `reserve_mb` is address space that the program takes beside the memory it may use; `processes`
    lets it start others, which only an installer needs.
    """

    command: tuple[str, ...]
    limits: Limits
    read_only: Mapping[str, Path] = field(default_factory=dict)
    writable: Mapping[str, Path] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    copied: Mapping[str, Path] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str = "/tmp"  # noqa: S108 - the sandbox's own
    host_network: bool = False
    egress: tuple[str, ...] = ()
    reserve_mb: int = DENO_RESERVE_MB
    processes: bool = False


@dataclass(slots=True)
class Launch:
    """A command ready to start, with the descriptors it inherits.

    The caller closes `inherited` after the start and reads the child's process id from `info`. With
    a cgroup the child waits until something is written to `gate`; the caller admits it first.
    `egress` is the sandbox's way out, to be opened once it runs.
    """

    argv: list[str]
    inherited: list[int]
    info: int
    egress: Egress | None = None
    gate: int = -1
    cell: Cell | None = None

    def close_inherited(self) -> None:
        """Close this process's copies of what the child inherited."""
        while self.inherited:
            os.close(self.inherited.pop())

    def abandon(self) -> None:
        """Close and remove everything of a launch that came to nothing."""
        self.close_inherited()
        for descriptor in (self.info, self.gate):
            if descriptor >= 0:
                os.close(descriptor)
        self.info = self.gate = -1
        if self.cell is not None:
            self.cell.remove()


def prepare(runtime: Runtime, profile: Profile) -> Launch:
    """Return the command that starts bubblewrap with the profile."""
    with ExitStack() as on_failure:
        launch = Launch([], [], -1)
        on_failure.callback(launch.abandon)
        networked = profile.host_network or profile.egress
        families = seccomp.INTERNET if networked else seccomp.NO_NETWORK
        if profile.egress:
            _require_egress(runtime)
            launch.egress = Egress(profile.egress, runtime.net_allow)
        launch.info, info = os.pipe()
        launch.inherited.append(info)
        options = [
            *_namespaces(runtime, profile),
            *_files(runtime, profile, launch),
            *_environment(profile),
            *("--info-fd", str(info)),
            *_gate(runtime, profile, launch),
            *("--seccomp", _held(_filter(runtime, profile, families), launch)),
        ]
        arguments = _held("\0".join(options).encode() + b"\0", launch)
        launch.argv = [
            str(runtime.bwrap),
            *("--args", arguments, "--"),
            *_resource_limits(profile.limits, profile.reserve_mb),
            *profile.command,
        ]
        on_failure.pop_all()
    return launch


def _require_egress(runtime: Runtime) -> None:
    if runtime.egress_trouble:
        message = f"No tool may use the network here: {runtime.egress_trouble}"
        raise ServiceError("sandbox_unavailable", message)


def _gate(runtime: Runtime, profile: Profile, launch: Launch) -> list[str]:
    """Make the sandbox's cgroup, and what holds the child until it is in there."""
    try:
        launch.cell = runtime.cgroups.cell(profile.limits)
    except OSError as error:
        message = f"The sandbox's cgroup could not be made ({error.strerror})."
        raise ServiceError(
            "sandbox_unavailable", message, "Restart the sandbox service."
        ) from error
    if launch.cell is None:
        return []
    block, launch.gate = os.pipe()
    launch.inherited.append(block)
    return ["--block-fd", str(block)]


def _filter(runtime: Runtime, profile: Profile, families: tuple[int, ...]) -> bytes:
    return seccomp.compile_filter(families, runtime.machine, processes=profile.processes)


def _held(content: bytes, launch: Launch) -> str:
    """Put bytes into an anonymous file that the child inherits; return its descriptor's number."""
    descriptor = os.memfd_create("sandbox")
    launch.inherited.append(descriptor)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return str(descriptor)


def _namespaces(runtime: Runtime, profile: Profile) -> list[str]:
    options = [f"--unshare-{kind}" for kind in ("user", "pid", "ipc", "uts", "cgroup")]
    if not profile.host_network:
        options.append("--unshare-net")
    if runtime.disable_userns:
        options.append("--disable-userns")
    options += ["--uid", NOBODY, "--gid", NOBODY, "--hostname", "sandbox"]
    return [*options, "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL"]


def _files(runtime: Runtime, profile: Profile, launch: Launch) -> list[str]:
    options: list[str] = []
    shown = {str(path): path for path in runtime.libraries}
    shown |= {PRLIMIT: runtime.prlimit, DENO: runtime.deno, "/etc": runtime.etc}
    for inside, outside in (shown | dict(profile.read_only)).items():
        options += ["--ro-bind", str(outside), inside]
    for inside, content in profile.files.items():
        options += ["--ro-bind-data", _held(content, launch), inside]
    for inside, outside in profile.writable.items():
        options += ["--bind", str(outside), inside]
    for inside, outside in profile.copied.items():
        options += ["--size", str(COPIED_MB * MB), "--tmpfs", inside]
        for file in outside.iterdir():
            launch.inherited.append(os.open(file, os.O_RDONLY | os.O_NOFOLLOW))
            options += ["--file", str(launch.inherited[-1]), f"{inside}/{file.name}"]
    # Deno asks for its own path here; a real /proc would show the kernel's keys and settings.
    options += ["--symlink", DENO, "/proc/self/exe"]
    options += ["--size", str(MB), "--tmpfs", "/dev"]
    for device in DEVICES:
        options += ["--dev-bind", f"/dev/{device}", f"/dev/{device}"]
    options += ["--remount-ro", "/dev"]
    options += ["--perms", "1777", "--size", str(profile.limits.tmp_mb * MB), "--tmpfs", "/tmp"]  # noqa: S108
    return [*options, "--chdir", profile.folder, "--remount-ro", "/"]


def _environment(profile: Profile) -> list[str]:
    options: list[str] = []
    environment = ENVIRONMENT | dict(profile.environment) | network_environment(profile.egress)
    for name, value in environment.items():
        options += ["--setenv", name, value]
    return options


def _resource_limits(limits: Limits, reserve_mb: int) -> list[str]:
    # Set inside, where the count of threads is this sandbox's own.
    data = (limits.memory_mb + reserve_mb) * MB
    address = [] if limits.address_mb is None else [f"--as={limits.address_mb * MB}"]
    return [
        PRLIMIT,
        *address,
        "--core=0",
        f"--nproc={limits.threads}",
        f"--nofile={limits.open_files}",
        f"--fsize={limits.file_mb * MB}",
        f"--cpu={limits.cpu_seconds}:{limits.cpu_seconds + 1}",
        f"--data={data}",
        "--memlock=65536",
        "--msgqueue=0",
        f"--sigpending={limits.threads}",
        "--",
    ]
