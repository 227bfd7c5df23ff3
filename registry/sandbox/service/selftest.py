"""Prove the walls before anything runs behind them, and say how to mend what is missing.

The service is closed until this succeeds: there is no weaker way to run a package.
"""

import secrets
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from registry.sandbox.service import egresstest, javascript, pythontest
from registry.sandbox.service.cgroup import Cgroups
from registry.sandbox.service.errors import ServiceError, tail
from registry.sandbox.service.limits import SELF_TEST_SECONDS
from registry.sandbox.service.netns import FIX
from registry.sandbox.service.process import Guest, GuestFailure
from registry.sandbox.service.python import OTHER_PYTHON
from registry.sandbox.service.runtime import Missing, Runtime, find_runtime

SYSCTL = Path("/proc/sys")
APPARMOR_FIX = (
    "printf 'abi <abi/4.0>,\\ninclude <tunables/global>\\nprofile bwrap /usr/bin/bwrap "
    "flags=(unconfined) {\\n  userns,\\n}\\n' | sudo tee /etc/apparmor.d/bwrap "
    "&& sudo apparmor_parser -r /etc/apparmor.d/bwrap"
)
REPORT_FIX = (
    "Update bubblewrap and the kernel; if it stays, report it: packages stay off until then."
)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; `fix` is empty when it is in order."""

    name: str
    ok: bool
    detail: str
    fix: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return `{name, ok, detail, fix}`, as `doctor` shows it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a self-test; `runtime` is None unless packages may run."""

    checks: tuple[Check, ...]
    runtime: Runtime | None

    @property
    def ok(self) -> bool:
        """Say whether packages may run."""
        return self.runtime is not None

    @property
    def is_whole(self) -> bool:
        """Say whether nothing is closed, neither the network nor Python."""
        return self.runtime is not None and not (
            self.runtime.egress_trouble or self.runtime.python_trouble
        )

    def refusal(self) -> ServiceError:
        """Return the error that answers every request while the sandbox is closed."""
        broken = next(check for check in self.checks if not check.ok)
        message = f"The sandbox is not available: {broken.detail}"
        return ServiceError("sandbox_unavailable", message, f"Mend it: {broken.fix}")


UNDER_WAY = Report(
    (Check("self-test", False, "It is still under way.", "Wait a moment, then look again."),), None
)


async def run(store: Path, cgroups: Cgroups) -> Report:
    """Look for the parts and send the canary in."""
    try:
        runtime = find_runtime(store, cgroups)
    except (Missing, OSError) as error:
        return Report((_missing(error),), None)
    checks = [
        Check("bubblewrap", True, str(runtime.bwrap)),
        Check("deno", True, f"{runtime.deno} {runtime.deno_version}"),
        Check("libraries", True, f"{len(runtime.libraries)} files"),
    ]
    checks += await _canary_checks(runtime, store)
    if not all(check.ok for check in checks):
        return Report(tuple(checks), None)
    # Without a safe way out, only tools that have one are closed; without Python, what needs it.
    trouble = await egresstest.trouble(runtime)
    egress = Check("egress", not trouble, trouble or "the proxy alone", FIX if trouble else "")
    broken = await pythontest.trouble(runtime)
    python = Check("python", not broken, broken or _python(runtime), OTHER_PYTHON if broken else "")
    found = replace(runtime, egress_trouble=trouble, python_trouble=broken)
    return Report((*checks, python, egress), found)


def _python(runtime: Runtime) -> str:
    """Say which Python packages run in; without one only they are off, so it closes nothing."""
    if runtime.python is None:
        return "none that the sandbox's user can run, so Python packages stay off"
    uv = runtime.uv or "not there, so none can be installed"
    return f"{runtime.python.program} {runtime.python.version}; uv: {uv}"


def _missing(error: Missing | OSError) -> Check:
    if isinstance(error, Missing):
        return Check(error.name, False, error.detail, error.fix)
    return Check("store", False, str(error), "Give the sandbox's user access to the store.")


async def _canary_checks(runtime: Runtime, store: Path) -> list[Check]:
    secret = store / "builds" / "canary"
    try:
        secret.write_text(secrets.token_hex(8), encoding="utf-8")
        async with await Guest.start(runtime, javascript.canary(runtime)) as guest:
            params = {"secret": str(secret)}
            answer = await guest.request("examine", params, seconds=SELF_TEST_SECONDS)
            return judge(answer.result, _host_view(guest.namespace_pid))
    except ServiceError as error:
        return [_spawn_failure(error)]
    except (GuestFailure, TimeoutError, OSError) as error:
        text = f"The canary did not report: {error or 'no answer in time'}."
        return [Check("canary", False, text, REPORT_FIX)]
    finally:
        secret.unlink(missing_ok=True)


def _spawn_failure(error: ServiceError) -> Check:
    said = tail(str(error.extra.get("stderr", ""))).splitlines()
    detail = f"A sandbox could not be made ({said[-1] if said else error.message})."
    return Check("namespaces", False, detail, _namespace_fix())


def _namespace_fix() -> str:
    """Return the command that lets bubblewrap make namespaces on this machine."""
    if _sysctl("kernel/apparmor_restrict_unprivileged_userns") == "1":
        return APPARMOR_FIX
    if _sysctl("kernel/unprivileged_userns_clone") == "0":
        return "sudo sysctl -w kernel.unprivileged_userns_clone=1"
    if _sysctl("user/max_user_namespaces") == "0":
        return "sudo sysctl -w user.max_user_namespaces=15000"
    return (
        "Allow user namespaces. In a container, start it with "
        "--security-opt seccomp=unconfined --security-opt apparmor=unconfined"
    )


def _sysctl(name: str) -> str:
    try:
        return (SYSCTL / name).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _host_view(namespace_pid: int | None) -> dict[str, str]:
    """Read the canary's `/proc/<pid>/status` from outside, where it cannot be forged."""
    if namespace_pid is None:
        return {}
    children = Path(f"/proc/{namespace_pid}/task/{namespace_pid}/children").read_text("utf-8")
    pid = children.split()[0]
    lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}


def judge(seen: Any, status: dict[str, str]) -> list[Check]:
    """Compare what the canary could do, and what the host sees of it, with what must be."""
    seen = seen if isinstance(seen, dict) else {}
    escapes = seen.get("escapes")
    facts = [
        ("user", status.get("Uid", "0").split()[0] != "0", f"uid on the host {status.get('Uid')}"),
        ("capabilities", _none_held(status), f"CapEff {status.get('CapEff')}"),
        ("system calls", status.get("Seccomp") == "2", f"Seccomp {status.get('Seccomp')}"),
        (
            "new privileges",
            status.get("NoNewPrivs") == "1",
            f"NoNewPrivs {status.get('NoNewPrivs')}",
        ),
        ("walls", escapes == [], f"the canary could: {', '.join(escapes or []) or 'nothing'}"),
    ]
    return [Check(name, ok, detail, "" if ok else REPORT_FIX) for name, ok, detail in facts]


def _none_held(status: dict[str, str]) -> bool:
    return all(int(status.get(name, "1"), 16) == 0 for name in ("CapEff", "CapPrm", "CapBnd"))
