"""Look whether imported packages still load, and set the health of their tools."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from django.utils import timezone

from config.lib.jsontext import storable
from config.lib.types import JsonObject
from registry.errors import Fault, RegistryUnreachable, SandboxUnavailable, ToolError
from registry.importing.checks import CHECKS, asks_upstream
from registry.importing.declared_checks import try_declared
from registry.importing.errors import NothingTold
from registry.importing.schedule import checked, checking, lease_due, not_told
from registry.models import Package, Tool
from registry.models.tool import ExecutionHealth, Health

BATCH = 1
"""Packages that a worker takes at a time, so that a lease covers a single check."""

LONGEST_ROUND = 45.0
"""Seconds after which a worker takes no more packages, so that imports and runs get their turn."""


@dataclass(frozen=True, kw_only=True)
class PackageCheck:
    """How the check of one package ended: exports that work, and export → what is wrong.

    `untold` says why nothing was found out, where that is so.
    """

    package: Package
    healthy: tuple[str, ...] = ()
    broken: dict[str, str] = field(default_factory=dict)
    untold: str = ""


def due_check() -> Iterator[PackageCheck]:
    """Check the packages that are due until none is left or `LONGEST_ROUND` is over.

    Raises SandboxUnavailable and RegistryUnreachable; no health is changed then.
    """
    started = time.monotonic()
    while time.monotonic() - started < LONGEST_ROUND and (batch := lease_due(BATCH)):
        yield from packages_check(batch)


def packages_check(packages: Iterable[Package]) -> Iterator[PackageCheck]:
    """Check one package after the other; raises as `due_check` does."""
    for package in packages:
        yield package_check(package)


def package_check(package: Package) -> PackageCheck:
    """Look at a package's tools, set the health of each and plan the next look.

    Those that load and whose manifest gives arguments for it are called once; see `try_declared`.
    """
    tools = list(Tool.objects.filter(package=package, deleted_at=None))
    with checking(package):
        try:
            wrong = dict(CHECKS[package.ecosystem](package, tools))
        except (SandboxUnavailable, RegistryUnreachable):  # says nothing of this package
            raise
        except NothingTold as reason:
            not_told(package, reason)
            return PackageCheck(package=package, untold=reason.message)
        except ToolError as error:
            wrong = {tool.export_name: error for tool in tools}
    check = _settle(package, tools, wrong)
    failed = try_declared(package, [tool for tool in tools if tool.export_name in check.healthy])
    check = PackageCheck(
        package=package,
        healthy=tuple(name for name in check.healthy if name not in failed),
        broken={**check.broken, **failed},
    )
    checked(package, broken=bool(check.broken))
    return check


def _settle(package: Package, tools: list[Tool], errors: dict[str, ToolError]) -> PackageCheck:
    broken = {}
    for tool in tools:
        error = errors.get(tool.export_name)
        if error is None:
            _mark_well(tool, answered=asks_upstream(package))
            continue
        error.tool = f"{package.name}::{tool.export_name}"
        broken[tool.export_name] = error.message
        _mark(tool, **_told(error), health_error=error.as_dict())
    healthy = tuple(tool.export_name for tool in tools if tool.export_name not in broken)
    return PackageCheck(package=package, healthy=healthy, broken=broken)


def _told(error: ToolError) -> JsonObject:
    """Return what an error found by looking says; a service that is down is no broken import."""
    match error.fault:
        case Fault.UPSTREAM:
            return {"execution_health": ExecutionHealth.UPSTREAM_DOWN}
        case Fault.SIGN_IN:
            return {"execution_health": ExecutionHealth.NEEDS_SIGN_IN}
        case Fault.NEEDS_KEY:
            return {"execution_health": ExecutionHealth.NEEDS_KEY}
    return {"import_health": Health.BROKEN}


def _mark(tool: Tool, **fields: object) -> None:
    fields["health_error"] = storable(fields["health_error"])
    Tool.objects.filter(pk=tool.pk).update(**fields, last_health_check_at=timezone.now())


def _mark_well(tool: Tool, *, answered: bool) -> None:
    """Note that a tool loads; one that failed when it was called is healed only by an answer."""
    waited = (ExecutionHealth.UPSTREAM_DOWN, ExecutionHealth.NEEDS_SIGN_IN)
    if answered and tool.execution_health in waited:
        tool.execution_health = ExecutionHealth.UNKNOWN
    well = tool.execution_health in (ExecutionHealth.HEALTHY, ExecutionHealth.UNKNOWN)
    _mark(
        tool,
        import_health=Health.HEALTHY,
        execution_health=tool.execution_health,
        health_error=None if well else tool.health_error,
    )
