"""Run a package: describe its tools, or call one. Each process serves one caller, once."""

import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from registry.sandbox.service.artifacts import saved_artifacts
from registry.sandbox.service.denials import denied_hosts, explained, failed_softly, shortened
from registry.sandbox.service.egress import Egress
from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.languages import LANGUAGES, Language
from registry.sandbox.service.limits import (
    CALL_LIMITS,
    FACTORIES_SECONDS,
    LOAD_SECONDS,
    MAX_CALL_SECONDS,
    MAX_OUTPUT_BYTES,
    Limits,
)
from registry.sandbox.service.pool import SparePool
from registry.sandbox.service.process import Guest, GuestFailure, LogSink, out_of_memory
from registry.sandbox.service.runtime import Runtime
from registry.sandbox.service.wording import MEMORY_REFUSED, readable

# The codes of `guest/worker.mjs` and of `guest/python/outfitter_guest/channel.py`.
GUEST_CODES = {
    -32000: "tool_failed",
    -32001: "import_broken",
    -32002: "unknown_export",
    -32003: "output_rejected",
    -32004: "input_rejected",
    -32005: "tool_unavailable",
    -32006: "out_of_memory",
}

VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")
MOST_VARIABLES = 20


# Made anew by each start of the service: an environment cannot be guessed from its digest.
SERVER_KEY = secrets.token_bytes(32)


@dataclass(frozen=True, slots=True)
class Package:
    """A built package: its name, as it is imported, its folder in the store and its language."""

    name: str
    folder: Path
    language: str = "javascript"

    @property
    def runs(self) -> Language:
        """How its processes are started."""
        return LANGUAGES[self.language]


@dataclass(frozen=True, slots=True)
class CallRequest:
    """What to call, with what, and the environment only this call may see."""

    export: str
    arguments: dict[str, Any]
    environment: dict[str, str] = field(default_factory=dict, repr=False)
    options: dict[str, Any] = field(default_factory=dict)
    network: tuple[str, ...] = ()
    seconds: float = 30.0
    tenant: str = ""


@dataclass(frozen=True, slots=True)
class SpareKey:
    """What must be equal for a process to be handed to a call; it holds no value of a variable.

    Without an environment nothing of the tenant is in the process, so tenants share.
    """

    artifact: str
    language: str
    limits: Limits
    network: tuple[str, ...]
    options: str
    tenant: str
    environment: str


def spare_key(package: Package, request: CallRequest) -> SpareKey:
    """Return the key of the processes that may serve a request."""
    environment = request.environment
    return SpareKey(
        artifact=package.folder.name,
        language=package.language,
        limits=CALL_LIMITS,
        network=tuple(sorted(set(request.network))),
        options=hashlib.sha256(_canonical(request.options)).hexdigest(),
        tenant=request.tenant if environment else "",
        environment=_sealed(environment) if environment else "",
    )


def _canonical(value: dict[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _sealed(environment: dict[str, str]) -> str:
    return hmac.new(SERVER_KEY, _canonical(environment), hashlib.sha256).hexdigest()


def guest_error(failure: GuestFailure) -> ServiceError:
    """Turn the guest's error answer into the service's."""
    code = GUEST_CODES.get(failure.code, "tool_failed")
    if MEMORY_REFUSED in failure.message or code == "out_of_memory":
        return out_of_memory()
    message = readable(failure.message) or "The tool failed without a message."
    missing = variable_names(failure.data.get("missing_env"))
    extra: dict[str, Any] = {"missing_env": missing} if missing else {}
    return ServiceError(code, message, **extra)


def variable_names(told: Any) -> list[str]:
    """Keep of what a guest tells those that can be names of variables."""
    names = told if isinstance(told, list) else []
    return [name for name in names if isinstance(name, str) and VARIABLE.fullmatch(name)][
        :MOST_VARIABLES
    ]


@asynccontextmanager
async def _told_by_host(guest: Guest) -> AsyncIterator[None]:
    """Let the failure of a call name the hosts that it could not reach."""
    try:
        yield
    except ServiceError as error:
        data = error.__cause__.data if isinstance(error.__cause__, GuestFailure) else {}
        told = explained(error, denied_hosts(data.get("denied_hosts")), guest.egress)
        if told is error:
            raise
        raise told from error


async def _load(
    guest: Guest, package: Package, environment: dict[str, str], options: dict[str, Any]
) -> None:
    try:
        params = {"name": package.name, "env": environment, "options": options}
        await guest.request("load", params, seconds=LOAD_SECONDS)
    except GuestFailure as failure:
        raise guest_error(failure) from failure
    except TimeoutError:
        message = f"{package.name} did not load within {LOAD_SECONDS:.0f} seconds."
        raise ServiceError("tool_timeout", message, phase="load") from None


async def _loaded(runtime: Runtime, package: Package, request: CallRequest) -> Guest:
    """Start a process and import the package, with the request's environment, into it."""
    profile = package.runs.worker(runtime, package.folder, network=request.network)
    guest = await Guest.start(runtime, profile)
    try:
        async with _told_by_host(guest):
            await _load(guest, package, request.environment, request.options)
    except BaseException:
        await guest.end()
        raise
    return guest


async def call(
    runtime: Runtime,
    package: Package,
    request: CallRequest,
    on_log: LogSink,
    pool: SparePool[Guest],
) -> dict[str, Any]:
    """Call one tool, in a spare of the pool or a fresh process.

    Returns `{output, artifacts, duration_ms}`.

    Nothing of the process runs any more when this returns, raises or is cancelled.
    """
    started = time.monotonic()
    seconds = min(request.seconds, MAX_CALL_SECONDS)
    alike = replace(request, arguments={})  # what is kept to make spares with holds no arguments
    lease = pool.lease(
        spare_key(package, request),
        lambda: _loaded(runtime, package, alike),
        label=package.name,
        group=package.folder.name,
        # An environment of which is not known whose it is must not wait for anybody.
        keep=bool(request.tenant) or not request.environment,
    )
    async with lease as guest, _told_by_host(guest):
        guest.listen(on_log)
        params = {"export": request.export, "arguments": request.arguments}
        try:
            answer = await guest.request("call", params, seconds=seconds)
        except GuestFailure as failure:
            raise guest_error(failure) from failure
        except TimeoutError:
            message = f"{request.export} did not answer within {seconds:g} seconds."
            raise ServiceError("tool_timeout", message, phase="execute") from None
    artifacts = saved_artifacts(answer.result)
    if answer.size - artifacts.size > MAX_OUTPUT_BYTES:
        size = f"{answer.size / (1 << 20):.1f} MB"
        message = f"{request.export} answered with {size}; at most 1 MB is taken."
        raise ServiceError("output_too_large", message, "Ask the tool for less at a time.")
    if not isinstance(answer.result, dict) or "output" not in answer.result:
        raise ServiceError(
            "protocol_violation", "The tool's process sent an answer without output."
        )
    _require_network(answer.result, guest.egress)
    return {
        "output": answer.result["output"],
        "artifacts": artifacts.files,
        "duration_ms": round((time.monotonic() - started) * 1000),
    }


def _require_network(result: dict[str, Any], egress: Egress | None) -> None:
    """Raise what a soft failure comes from, where that is a host which may not be reached."""
    if failed_softly(result["output"]):
        error = ServiceError("tool_failed", shortened(result["output"]))
        told = explained(error, denied_hosts(result.get("denied_hosts")), egress)
        if told is not error:
            raise told


async def describe(
    runtime: Runtime,
    package: Package,
    options: dict[str, Any],
    environment: dict[str, str],
) -> dict[str, Any]:
    """List the package's tools in a throw-away process.

    Returns `{tools, problems, unavailable, env}`.

    `env` names the keys that the package's own files read. Factories are called there, because
    only calling tells whether one makes a tool; if that hangs or kills the process, the tools
    found before still count.
    """
    profile = package.runs.worker(runtime, package.folder)
    async with await Guest.start(runtime, profile) as guest:
        await _load(guest, package, environment, options)
        try:
            answer = await guest.request("describe", {}, seconds=LOAD_SECONDS)
            found = _description(answer.result)
        except GuestFailure as failure:
            raise guest_error(failure) from failure
        except TimeoutError:
            message = f"The exports of {package.name} could not be read in time."
            raise ServiceError("tool_timeout", message, phase="load") from None
        factories = [name for name in answer.result.get("factories", []) if isinstance(name, str)]
        if not factories:
            return found
        try:
            params = {"exports": factories}
            answer = await guest.request("describe_factories", params, seconds=FACTORIES_SECONDS)
            made = _description(answer.result)
        except (GuestFailure, ServiceError, TimeoutError):
            text = "Calling it to see whether it makes a tool ended the process."
            made = {"tools": [], "problems": [{"export": ", ".join(factories), "message": text}]}
    return found | {key: [*found[key], *made[key]] for key in ("tools", "problems")}


def _description(result: Any) -> dict[str, list[Any]]:
    """Keep of a guest's description what has the promised shape."""
    if not isinstance(result, dict):
        raise ServiceError("protocol_violation", "The package's description is not an object.")
    tools = [tool for tool in _objects(result.get("tools")) if _is_tool(tool)]
    problems = [
        {"export": str(item.get("export")), "message": readable(str(item.get("message")))}
        for item in _objects(result.get("problems"))
    ]
    unavailable = [
        {"export": str(item.get("export")), "reason": readable(str(item.get("reason")))}
        for item in _objects(result.get("unavailable"))
    ]
    return {
        "tools": tools,
        "problems": problems,
        "unavailable": unavailable,
        "env": variable_names(result.get("env")),
    }


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _is_tool(tool: dict[str, Any]) -> bool:
    return (
        isinstance(tool.get("export"), str)
        and isinstance(tool.get("description"), str)
        and isinstance(tool.get("aliases"), list)
        and isinstance(tool.get("inputSchema"), dict)
    )


async def warm(runtime: Runtime, package: Package) -> None:
    """Import the package once so that its compiled code is kept; failure costs only time."""
    if not package.runs.keeps_cache:
        return
    profile = package.runs.worker(runtime, package.folder, warm=True)
    async with await Guest.start(runtime, profile) as guest:
        try:
            await _load(guest, package, {}, {})
        except ServiceError:
            return
        await guest.finish(seconds=10.0)
