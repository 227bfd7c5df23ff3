"""The profiles of JavaScript: a package's worker, the self-test's canary, a package's install."""

from collections.abc import Mapping
from pathlib import Path

from config.lib.host_patterns import parse_host_pattern
from registry.sandbox.service.limits import BUILD_LIMITS, CALL_LIMITS, SERVER_LIMITS, Limits
from registry.sandbox.service.netns import PROXY_HOST, PROXY_PORT
from registry.sandbox.service.profile import DENO, Profile
from registry.sandbox.service.runtime import Runtime

keeps_cache = True  # a first import leaves compiled code in the artifact

QUIET = {"NO_COLOR": "1", "DENO_NO_UPDATE_CHECK": "1", "DENO_NO_PROMPT": "1"}

# `--cached-only --no-remote` keep `import()` from fetching code; `--deny-import` did not.
RUN = (DENO, "run", "--no-prompt", "--cached-only", "--no-remote", "--no-lock", "--no-config")
# Functions are compiled with their module, once, into the package's cache; not at their first use,
# which in a process that serves one call is always in that call. Without a cache (one that has
# grown too large is dropped) every start would compile all of it.
COMPILE_AHEAD = "--no-lazy"
PERMISSIONS = (
    "--allow-env",
    "--allow-read=/pkg,/tmp",
    "--allow-write=/tmp",
    "--allow-sys=hostname,osRelease,cpus,homedir,uid,gid,userInfo",
    "--deny-run",
    "--deny-ffi",
)


def worker(
    runtime: Runtime,
    artifact: Path,
    *,
    limits: Limits = CALL_LIMITS,
    network: tuple[str, ...] = (),
    warm: bool = False,
) -> Profile:
    """Return the profile that runs a package, with no network but the hosts of `network`.

    `warm` lets the process write the artifact's cache of compiled code. Later ones get a copy of it
    each: a shared one could be poisoned, and Deno makes no use of one it cannot write to.
    """
    cache = {"/cache": artifact / "cache"}
    permissions = (*PERMISSIONS, *network_permission(network))
    engine = _engine(limits, artifact, warm=warm)
    return Profile(
        command=(*RUN, "--node-modules-dir=manual", engine, *permissions, "/rt/worker.mjs"),
        limits=limits,
        read_only={"/rt": runtime.guest, "/pkg": artifact / "pkg"},
        writable=cache if warm else {},
        copied={} if warm else cache,
        environment=QUIET | {"DENO_DIR": "/cache"},
        egress=network,
    )


def _engine(limits: Limits, artifact: Path, *, warm: bool = False) -> str:
    """Return V8's options. A cache is only of use to those that were set when it was written."""
    heap = f"--v8-flags=--max-old-space-size={limits.memory_mb // 2}"
    return f"{heap},{COMPILE_AHEAD}" if warm or any((artifact / "cache").iterdir()) else heap


def network_permission(hosts: tuple[str, ...]) -> tuple[str, ...]:
    """Return Deno's permission for the hosts and for the proxy, their only way out."""
    if not hosts:
        return ()
    named = [at for host in hosts for at in parse_host_pattern(host).with_ports]
    return (f"--allow-net={','.join([*named, f'{PROXY_HOST}:{PROXY_PORT}'])}",)


def server(
    runtime: Runtime,
    artifact: Path,
    *,
    script: str,
    arguments: tuple[str, ...],
    network: tuple[str, ...] = (),
    limits: Limits = SERVER_LIMITS,
) -> Profile:
    """Return the profile that runs one of a package's commands, with the walls of `worker`.

    It begins when it has been sent its variables, as the first line on stdin (`server.mjs`).
    """
    return Profile(
        command=(
            *(*RUN, "--node-modules-dir=manual", _engine(limits, artifact)),
            *(*PERMISSIONS, *network_permission(network)),
            *("--preload", "/rt/server.mjs", script, *arguments),
        ),
        limits=limits,
        read_only={"/rt": runtime.guest, "/pkg": artifact / "pkg"},
        copied={"/cache": artifact / "cache"},
        environment=QUIET | {"DENO_DIR": "/cache"},
        egress=network,
    )


def canary(runtime: Runtime) -> Profile:
    """Return the profile of the self-test: the same walls, but with every permission of Deno's."""
    return Profile(
        command=(*RUN, "--allow-all", "/rt/canary.mjs"),
        limits=CALL_LIMITS,
        read_only={"/rt": runtime.guest},
        environment=QUIET | {"DENO_DIR": "/tmp/deno"},  # noqa: S108
    )


def install(
    arguments: tuple[str, ...], build: Path, files: Mapping[str, bytes], env: Mapping[str, str]
) -> Profile:
    """Return the profile of `deno install` in the folder `build`: network, but no code runs."""
    resolver = {
        str(path): path for path in (Path("/etc/resolv.conf"), Path("/etc/hosts")) if path.exists()
    }
    folders = {"DENO_DIR": "/build/.deno", "HOME": "/home"}
    return Profile(
        command=(DENO, "install", "--node-modules-dir=auto", "--prod", *arguments),
        limits=BUILD_LIMITS,
        read_only=resolver,
        writable={"/build": build},
        files=files,
        environment=QUIET | dict(env) | folders,
        folder="/build",
        host_network=True,
    )
