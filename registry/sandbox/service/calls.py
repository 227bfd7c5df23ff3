"""Run a package: describe its tools, or call one. Each time in a fresh process."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from registry.sandbox.service.artifacts import saved_artifacts
from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.languages import LANGUAGES, Language
from registry.sandbox.service.limits import (
    FACTORIES_SECONDS,
    LOAD_SECONDS,
    MAX_CALL_SECONDS,
    MAX_OUTPUT_BYTES,
)
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


def guest_error(failure: GuestFailure) -> ServiceError:
    """Turn the guest's error answer into the service's."""
    code = GUEST_CODES.get(failure.code, "tool_failed")
    if MEMORY_REFUSED in failure.message or code == "out_of_memory":
        return out_of_memory()
    return ServiceError(code, readable(failure.message) or "The tool failed without a message.")


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
        raise ServiceError("tool_timeout", message, during="load") from None


async def call(
    runtime: Runtime, package: Package, request: CallRequest, on_log: LogSink
) -> dict[str, Any]:
    """Call one tool; returns `{output, artifacts, duration_ms}`.

    The process is dead when this returns, raises or is cancelled.
    """
    started = time.monotonic()
    profile = package.runs.worker(runtime, package.folder, network=request.network)
    seconds = min(request.seconds, MAX_CALL_SECONDS)
    async with await Guest.start(runtime, profile, on_log) as guest:
        await _load(guest, package, request.environment, request.options)
        params = {"export": request.export, "arguments": request.arguments}
        try:
            answer = await guest.request("call", params, seconds=seconds)
        except GuestFailure as failure:
            raise guest_error(failure) from failure
        except TimeoutError:
            message = f"{request.export} did not answer within {seconds:g} seconds."
            raise ServiceError("tool_timeout", message, during="call") from None
    artifacts = saved_artifacts(answer.result)
    if answer.size - artifacts.size > MAX_OUTPUT_BYTES:
        size = f"{answer.size / (1 << 20):.1f} MB"
        message = f"{request.export} answered with {size}; at most 1 MB is taken."
        raise ServiceError("output_too_large", message, "Ask the tool for less at a time.")
    if not isinstance(answer.result, dict) or "output" not in answer.result:
        raise ServiceError(
            "protocol_violation", "The tool's process sent an answer without output."
        )
    return {
        "output": answer.result["output"],
        "artifacts": artifacts.files,
        "duration_ms": round((time.monotonic() - started) * 1000),
    }


async def describe(
    runtime: Runtime,
    package: Package,
    options: dict[str, Any],
    environment: dict[str, str],
) -> dict[str, Any]:
    """List the package's tools in a throw-away process; returns `{tools, problems, unavailable}`.

    Factories are called there, because only calling tells whether one makes a tool; if that hangs
    or kills the process, the tools found before still count.
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
            raise ServiceError("tool_timeout", message, during="load") from None
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
            made["unavailable"] = []
    return {key: [*found[key], *made[key]] for key in found}


def _description(result: Any) -> dict[str, list[dict[str, Any]]]:
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
    return {"tools": tools, "problems": problems, "unavailable": unavailable}


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
