"""The service's methods, behind the self-test and the limit on how many run at once."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, cast

from registry.sandbox.service import calls, selftest, servers, stdio
from registry.sandbox.service.builder import Builder
from registry.sandbox.service.capacity import Capacity
from registry.sandbox.service.cgroup import Cgroups
from registry.sandbox.service.code import CodeRunner
from registry.sandbox.service.code_execution import Ask
from registry.sandbox.service.code_guest import CodeGuest
from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.limits import MAX_STDIO_SECONDS, MB
from registry.sandbox.service.params import (
    environment,
    hosts,
    number,
    object_,
    seconds,
    text,
    texts,
)
from registry.sandbox.service.places import Places
from registry.sandbox.service.pool import ESTIMATE, SparePool
from registry.sandbox.service.process import Guest, LogSink
from registry.sandbox.service.recipes import Recipe
from registry.sandbox.service.runtime import Runtime

DAY = 86_400.0
STATUS_SECONDS = 2.0
RETEST_SECONDS = 60.0
"""How long a part that did not pass the self-test stays closed before it is tried again."""


class Engine:
    """Answers every method of the service; every parameter is checked here."""

    def __init__(
        self,
        store: Path,
        recipes: Mapping[str, Recipe],
        capacity: Capacity,
        cgroups: Cgroups,
    ) -> None:
        self._store = store
        self._builder = Builder(store, recipes)
        self._cgroups = cgroups
        self._report: selftest.Report | None = None
        self._testing: asyncio.Task[selftest.Report] | None = None
        self._tested_at = 0.0
        self._started = time.monotonic()
        self._places = Places()
        self._pool: SparePool[Guest] = SparePool(
            capacity.memory_mb * MB, most=capacity.spares, idle_seconds=capacity.spare_seconds
        )
        # One pool, and so one budget of memory; a line of it holds guests of one kind only.
        self._code = CodeRunner(cast(SparePool[CodeGuest], self._pool))

    async def report(self) -> selftest.Report:
        """Return the self-test's outcome; one that failed is tried again, so mending it heals.

        Where only a part is closed, that is done beside the work, and not at every call: a busy
        machine may have been too slow for it once.
        """
        known = self._report
        if known is None or not known.ok:
            # Whoever stops waiting does not stop the test for the others.
            return await asyncio.shield(self._test())
        if not known.is_whole and time.monotonic() - self._tested_at >= RETEST_SECONDS:
            self._test()
        return known

    def _test(self) -> asyncio.Task[selftest.Report]:
        if self._testing is None or self._testing.done():
            self._testing = asyncio.create_task(self._tested())
        return self._testing

    async def _tested(self) -> selftest.Report:
        report = await selftest.run(self._store, self._cgroups)
        self._tested_at = time.monotonic()
        if report.ok or self._report is None or not self._report.ok:
            self._report = report  # what was proved already is not closed by a test too slow
        return report

    async def _report_soon(self) -> selftest.Report:
        """Return the newest outcome there is: a status must not wait for a test that hangs."""
        try:
            async with asyncio.timeout(STATUS_SECONDS):
                return await self.report()
        except TimeoutError:
            return self._report or selftest.UNDER_WAY

    async def close(self) -> None:
        """Stop the builds that nobody waits for any more, and end the spares."""
        if self._testing is not None:
            self._testing.cancel()
        await asyncio.gather(self._builder.close(), self._pool.close())

    async def _runtime(self) -> Runtime:
        report = await self.report()
        if report.runtime is None:
            raise report.refusal()
        return report.runtime

    @asynccontextmanager
    async def _place(self, artifact: str) -> AsyncIterator[Runtime]:
        """Wait for one of the places; raises `ServiceError` when none comes free in time."""
        runtime = await self._runtime()
        async with self._places.take(artifact):
            yield runtime

    async def status(self, _params: dict[str, Any], _on_log: LogSink) -> dict[str, Any]:
        """Return what `Sandbox.status` promises."""
        report = await self._report_soon()
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
            "running": self._places.running,
            "waiting": self._places.waiting,
            "builds": self._builder.under_way(),
            "uptime_seconds": round(time.monotonic() - self._started),
            "cgroup": {
                "controllers": list(self._cgroups.controllers),
                "detail": self._cgroups.detail,
            },
            **self._pool.status(),
        }

    async def build(self, params: dict[str, Any], _on_log: LogSink) -> dict[str, Any]:
        """Build `{ecosystem, name, version?}`; returns the artifact's record."""
        version = params.get("version") or "latest"
        ecosystem, name = text(params, "ecosystem"), text(params, "name")
        runtime = await self._runtime()
        return asdict(await self._builder.build(runtime, ecosystem, name, str(version)))

    async def search(self, params: dict[str, Any], _on_log: LogSink) -> dict[str, Any]:
        """Search a registry for `{ecosystem, text, offset, size}`; one page."""
        query = params.get("text")
        if not isinstance(query, str):
            raise ServiceError("invalid_request", '"text" must be a text.')
        offset, size = int(number(params, "offset", 0)), int(number(params, "size", 20))
        return await self._builder.search(text(params, "ecosystem"), query, offset, size)

    async def put(self, params: dict[str, Any], _on_log: LogSink) -> dict[str, Any]:
        """Keep a module, `{digest, files: {path: base64}}`, for its build."""
        await self._builder.put("upload", text(params, "digest"), object_(params, "files"))
        return {}

    async def newest(self, params: dict[str, Any], _on_log: LogSink) -> dict[str, Any]:
        """Look up the newest version of `{ecosystem, name, current}`."""
        ecosystem, name = text(params, "ecosystem"), text(params, "name")
        runtime = await self._runtime()
        current = str(params.get("current") or "")
        return await self._builder.newest(runtime, ecosystem, name, current)

    async def advisories(self, params: dict[str, Any], _on_log: LogSink) -> dict[str, Any]:
        """Return what the registry knows against `{artifact}`; `{offered, advisories}`."""
        return await self._builder.advisories(text(params, "artifact"))

    async def describe(self, params: dict[str, Any], _on_log: LogSink) -> dict[str, Any]:
        """Describe the tools of `{artifact, options?, env?}`; returns `{tools, problems}`."""
        artifact, options = text(params, "artifact"), object_(params, "options")
        env = environment(params)
        async with self._place(artifact) as runtime:
            package = self._builder.package(artifact)
            share = await self._pool.budget.reserve(ESTIMATE)
            try:
                return await calls.describe(runtime, package, options, env)
            finally:
                share.release()

    async def call(self, params: dict[str, Any], on_log: LogSink) -> dict[str, Any]:
        """Call `{artifact, export, arguments, env, options, network, timeout_seconds, tenant}`.

        Returns `{output, duration_ms}`. `tenant` says for whom the environment is.
        """
        artifact = text(params, "artifact")
        request = calls.CallRequest(
            export=text(params, "export"),
            arguments=object_(params, "arguments"),
            environment=environment(params),
            options=object_(params, "options"),
            network=hosts(params),
            seconds=seconds(params),
            tenant=str(params.get("tenant", "")),
        )
        async with self._place(artifact) as runtime:
            package = self._builder.package(artifact)
            return await calls.call(runtime, package, request, on_log, self._pool)

    async def execute(self, params: dict[str, Any], on_log: LogSink, ask: Ask) -> dict[str, Any]:
        """Run a program; see `CodeRunner.execute`."""
        runtime = await self._runtime()
        return await self._code.execute(runtime, params, partial(on_log, "print"), ask)

    async def open_stdio(self, params: dict[str, Any], channel: stdio.Channel) -> dict[str, Any]:
        """Run `{artifact, command, arguments, env, network, seconds}` as an MCP server.

        Messages go through the channel; returns `{duration_ms}` when the server ends by itself.
        """
        request = servers.ServerRequest(
            command=str(params.get("command") or ""),
            arguments=texts(params, "arguments"),
            environment=environment(params),
            network=hosts(params),
        )
        artifact = text(params, "artifact")
        limit = seconds(params, "seconds", MAX_STDIO_SECONDS)
        async with self._place(artifact) as runtime:
            package = self._builder.package(artifact)
            profile = servers.profile_of(runtime, package, request)
            share = await self._pool.budget.reserve(ESTIMATE)
            try:
                return await stdio.converse(
                    runtime,
                    profile,
                    channel,
                    name=package.name,
                    environment=request.environment,
                    seconds=limit,
                )
            finally:
                share.release()

    async def forget(self, params: dict[str, Any], _on_log: LogSink) -> dict[str, Any]:
        """End the spares of `{artifact}`, which is not to be used any more; returns `{ended}`."""
        return {"ended": self._pool.forget(text(params, "artifact"))}

    async def collect(self, params: dict[str, Any], _on_log: LogSink) -> dict[str, Any]:
        """Remove artifacts that are not in `{keep}` and older than `{min_age_seconds}` (a day).

        Those a call is using stay. Returns `{removed, freed_bytes}`.
        """
        keep, age = frozenset(texts(params, "keep")), number(params, "min_age_seconds", DAY)
        removed, freed = [], 0
        for artifact in self._builder.older_than(age):
            if artifact not in keep and not self._places.of(artifact):
                self._pool.forget(artifact)
                freed += await self._builder.remove(artifact)
                removed.append(artifact)
        return {"removed": removed, "freed_bytes": freed}
