"""The service's four methods, behind the self-test and the limit on how many run at once."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from registry.sandbox.service import calls, selftest, servers, stdio
from registry.sandbox.service.builder import Builder
from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.limits import (
    CALL_SECONDS,
    MAX_CALL_SECONDS,
    MAX_STDIO_SECONDS,
    QUEUE_SECONDS,
)
from registry.sandbox.service.process import LogSink
from registry.sandbox.service.recipes import Recipe
from registry.sandbox.service.runtime import Runtime

CALLS_PER_PROCESSOR = 4


class Engine:
    """Answers `status`, `build`, `describe` and `call`; every parameter is checked here."""

    def __init__(self, store: Path, recipes: Mapping[str, Recipe]) -> None:
        self._store = store
        self._builder = Builder(store, recipes)
        self._report: selftest.Report | None = None
        self._testing = asyncio.Lock()
        self._running = 0
        self._places = asyncio.Semaphore(CALLS_PER_PROCESSOR * (os.cpu_count() or 1))

    async def report(self) -> selftest.Report:
        """Return the self-test's outcome; one that failed is tried again, so mending it heals."""
        async with self._testing:
            if self._report is None or not self._report.ok:
                self._report = await selftest.run(self._store)
        return self._report

    async def close(self) -> None:
        """Stop the builds that nobody waits for any more."""
        await self._builder.close()

    async def _runtime(self) -> Runtime:
        report = await self.report()
        if report.runtime is None:
            raise report.refusal()
        return report.runtime

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[Runtime]:
        """Wait for one of the places; raises `ServiceError` when none comes free in time."""
        runtime = await self._runtime()
        try:
            async with asyncio.timeout(QUEUE_SECONDS):
                await self._places.acquire()
        except TimeoutError:
            message = "Too many tools are running at the same time."
            raise ServiceError("sandbox_busy", message, "Try again in a moment.") from None
        self._running += 1
        try:
            yield runtime
        finally:
            self._running -= 1
            self._places.release()

    async def status(self, _params: dict[str, Any], _on_log: LogSink) -> dict[str, Any]:
        """Return `{tier, ok, checks, uid, store, deno, python, running}`."""
        report = await self.report()
        return {
            "tier": "bwrap" if report.ok else "disabled",
            "ok": report.ok,
            "checks": [check.as_dict() for check in report.checks],
            "uid": os.geteuid(),
            "store": str(self._store),
            "deno": report.runtime.deno_version if report.runtime else "",
            "python": report.runtime.python.version
            if report.runtime and report.runtime.python
            else "",
            "running": self._running,
        }

    async def build(self, params: dict[str, Any], _on_log: LogSink) -> dict[str, Any]:
        """Build `{ecosystem, name, version?}`; returns the artifact's record."""
        version = params.get("version") or "latest"
        ecosystem, name = _text(params, "ecosystem"), _text(params, "name")
        runtime = await self._runtime()
        return asdict(await self._builder.build(runtime, ecosystem, name, str(version)))

    async def describe(self, params: dict[str, Any], _on_log: LogSink) -> dict[str, Any]:
        """Describe the tools of `{artifact, options?, env?}`; returns `{tools, problems}`."""
        options, environment = _object(params, "options"), _environment(params)
        async with self._place() as runtime:
            package = self._builder.package(_text(params, "artifact"))
            return await calls.describe(runtime, package, options, environment)

    async def call(self, params: dict[str, Any], on_log: LogSink) -> dict[str, Any]:
        """Call `{artifact, export, arguments, env, options, network, timeout_seconds}`.

        Returns `{output, duration_ms}`.
        """
        request = calls.CallRequest(
            export=_text(params, "export"),
            arguments=_object(params, "arguments"),
            environment=_environment(params),
            options=_object(params, "options"),
            network=_texts(params, "network"),
            seconds=_seconds(params),
        )
        async with self._place() as runtime:
            package = self._builder.package(_text(params, "artifact"))
            return await calls.call(runtime, package, request, on_log)

    async def open_stdio(self, params: dict[str, Any], channel: stdio.Channel) -> dict[str, Any]:
        """Run `{artifact, command, arguments, env, network, seconds}` as an MCP server.

        Messages go through the channel; returns `{duration_ms}` when the server ends by itself.
        """
        request = servers.ServerRequest(
            command=str(params.get("command") or ""),
            arguments=_texts(params, "arguments"),
            environment=_environment(params),
            network=_texts(params, "network"),
        )
        seconds = _seconds(params, "seconds", MAX_STDIO_SECONDS)
        async with self._place() as runtime:
            package = self._builder.package(_text(params, "artifact"))
            profile = servers.profile_of(runtime, package, request)
            return await stdio.converse(
                runtime, profile, channel, name=package.name, seconds=seconds
            )


def _text(params: dict[str, Any], name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str) or not value:
        raise ServiceError("invalid_request", f'"{name}" must be a text.')
    return value


def _object(params: dict[str, Any], name: str) -> dict[str, Any]:
    value = params.get(name, {})
    if not isinstance(value, dict):
        raise ServiceError("invalid_request", f'"{name}" must be an object.')
    return value


def _texts(params: dict[str, Any], name: str) -> tuple[str, ...]:
    values = params.get(name, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ServiceError("invalid_request", f'"{name}" must be a list of texts.')
    return tuple(values)


def _environment(params: dict[str, Any]) -> dict[str, str]:
    """Check `env` without ever repeating a value of it."""
    env = _object(params, "env")
    for name, value in env.items():
        if not name or "=" in name or "\0" in name:
            raise ServiceError("invalid_request", f'"{name[:80]}" cannot name a variable.')
        if not isinstance(value, str) or "\0" in value:
            raise ServiceError("invalid_request", f'The variable "{name[:80]}" must be a text.')
    return env


def _seconds(
    params: dict[str, Any], name: str = "timeout_seconds", most: float = MAX_CALL_SECONDS
) -> float:
    value = params.get(name, CALL_SECONDS)
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise ServiceError("invalid_request", f'"{name}" must be a number above zero.')
    return min(float(value), most)
