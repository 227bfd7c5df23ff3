"""Try a package's tools with the arguments that its manifest gives for that (`healthCheck`).

A check calls other people's code by itself, again and again, so only what is safe is called: tools
of an approved package, with no key of anybody, when the manifest says neither that it is not to be
called nor that something has to be cleaned up afterwards.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.utils import timezone

from config.lib.jsontext import storable
from config.lib.types import JsonObject
from registry.errors import (
    Fault,
    HealthCheckFailed,
    InvalidArguments,
    SandboxUnavailable,
    ToolError,
    ToolUnavailable,
)
from registry.manifest import read_manifest
from registry.models import Package, Tool
from registry.models.package import Ecosystem, ReviewStatus
from registry.models.tool import ExecutionHealth
from registry.needs import GUEST_SAW, required_by
from registry.sandbox.client import sandbox
from registry.schemas import validate_arguments

MOST_CALLS = 20
"""Calls of one package a check; a package with more tools has its first ones tried."""

CALL_SECONDS = 15
PACKAGE_SECONDS = 60.0
"""After so long no further tool of a package is tried."""

TIMESTAMP = "{{timestamp}}"


def try_declared(package: Package, tools: Sequence[Tool]) -> dict[str, str]:
    """Call the tools that can be tried, set their health by how it ends; return what failed.

    The answer maps export → what is wrong. A tool that answers is healed, whatever it had.
    """
    started = time.monotonic()
    failed: dict[str, str] = {}
    for tool, arguments in _to_try(package, tools):
        if time.monotonic() - started > PACKAGE_SECONDS:
            break
        hosts = _hosts_if_approved(tool)
        if hosts is None:
            continue
        try:
            _call(package, tool, arguments, hosts)
        except SandboxUnavailable:  # says nothing of the package; the next check tries again
            break
        except ToolError as error:
            if (told := _told(error)) is not None:
                told.tool = f"{package.name}::{tool.export_name}"
                failed[tool.export_name] = told.message
                _mark(tool, _state(told), told.as_dict())
        else:
            _mark(tool, ExecutionHealth.HEALTHY, None)
    return failed


def _to_try(package: Package, tools: Sequence[Tool]) -> Iterator[tuple[Tool, JsonObject]]:
    if package.ecosystem != Ecosystem.NPM or required_by(package.env):
        return
    declared = _declared_arguments(package)
    tried = [tool for tool in tools if tool.export_name in declared][:MOST_CALLS]
    now = str(int(time.time() * 1000))
    for tool in tried:
        arguments = _filled(declared[tool.export_name], now)
        try:
            yield tool, validate_arguments(tool.input_schema, arguments)
        except (InvalidArguments, ToolUnavailable):
            continue  # the manifest is wrong, not the tool; “Check a manifest” tells its author


def _declared_arguments(package: Package) -> Mapping[str, JsonObject]:
    """Return export → arguments, for the tools that may be called by themselves."""
    bindings: Mapping[str, str] = package.settings.get("bindings") or {}
    return {
        bindings.get(tool.export, tool.export): tool.health_check.arguments
        for tool in read_manifest(package.manifest).tools
        if tool.health_check is not None
        and tool.health_check.is_harmless
        and tool.health_check.arguments is not None
    }


def _filled(value: Any, now: str) -> Any:
    """Put the time in milliseconds for `{{timestamp}}`, wherever it stands in a text."""
    if isinstance(value, str):
        return value.replace(TIMESTAMP, now)
    if isinstance(value, list):
        return [_filled(item, now) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, now) for key, item in value.items()}
    return value


def _hosts_if_approved(tool: Tool) -> list[str] | None:
    """Return the hosts that the tool may reach at this moment, or None where it may not run."""
    approved = Tool.objects.filter(
        pk=tool.pk,
        deleted_at=None,
        review_status=ReviewStatus.APPROVED,
        package__review_status=ReviewStatus.APPROVED,
        stopped_at=None,
        package__stopped_at=None,
    )
    return approved.values_list("package__allowed_hosts", flat=True).first()


def _call(package: Package, tool: Tool, arguments: JsonObject, hosts: list[str]) -> None:
    sandbox().call(
        artifact=package.artifact,
        export=tool.export_name,
        arguments=arguments,
        env={},
        network=hosts,
        timeout_seconds=min(tool.timeout_seconds, CALL_SECONDS),
    )


def _told(error: ToolError) -> ToolError | None:
    """Return what a failure says of the tool; None when it says something of us, or of a key."""
    if error.extra.get(GUEST_SAW):
        return None
    if error.fault is Fault.UPSTREAM:
        return error
    if error.fault in (Fault.EXECUTION, Fault.REPEATED):
        return HealthCheckFailed(
            f"With the arguments of its own health check it failed: {error.message}",
            cause=error.code,
        )
    return None


def _state(error: ToolError) -> ExecutionHealth:
    down = error.fault is Fault.UPSTREAM
    return ExecutionHealth.UPSTREAM_DOWN if down else ExecutionHealth.BROKEN


def _mark(tool: Tool, state: ExecutionHealth, error: JsonObject | None) -> None:
    Tool.objects.filter(pk=tool.pk).update(
        execution_health=state, health_error=storable(error), last_health_check_at=timezone.now()
    )
