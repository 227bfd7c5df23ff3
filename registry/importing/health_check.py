"""Look whether imported packages still load, and set the health of their tools."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from config.lib.jsontext import storable
from config.lib.types import JsonObject
from registry.errors import (
    ArtifactMissing,
    ImportBroken,
    RegistryUnreachable,
    SandboxUnavailable,
    ToolError,
    UnknownExport,
)
from registry.models import Package, Tool
from registry.models.package import Ecosystem
from registry.models.tool import Health
from registry.sandbox.client import sandbox
from registry.sandbox.contract import Description
from registry.selectors import BLOCKED


@dataclass(frozen=True, kw_only=True)
class PackageCheck:
    """How the check of one package ended: exports that work, and export → what is wrong."""

    package: Package
    healthy: tuple[str, ...]
    broken: dict[str, str]


def packages_to_check() -> QuerySet[Package]:
    """Return the imported packages that have living tools and that review has not stopped."""
    tools = Tool.objects.filter(package=OuterRef("pk"), deleted_at=None)
    return (
        Package.objects.filter(Exists(tools), ecosystem=Ecosystem.NPM)
        .exclude(artifact="")
        .exclude(review_status__in=BLOCKED)
        .order_by("name", "pk")
    )


def packages_check() -> Iterator[PackageCheck]:
    """Check one package after the other.

    Raises SandboxUnavailable and RegistryUnreachable; no health is changed then.
    """
    for package in packages_to_check():
        yield package_check(package)


def package_check(package: Package) -> PackageCheck:
    """Read a package's exports again and set `import_health` of each of its tools."""
    tools = list(Tool.objects.filter(package=package, deleted_at=None))
    try:
        description = _described(package)
    except (SandboxUnavailable, RegistryUnreachable):  # says nothing of this package
        raise
    except ToolError as error:
        return _settle(package, tools, {tool.export_name: error for tool in tools})
    exports = {name for tool in description.tools for name in (tool.export, *tool.aliases)}
    missing: dict[str, ToolError] = {
        tool.export_name: UnknownExport(f"{package} does not export “{tool.export_name}”.")
        for tool in tools
        if tool.export_name not in exports
    }
    for problem in description.problems:
        if problem.export in missing:
            missing[problem.export] = ImportBroken(problem.message)
    return _settle(package, tools, missing)


def _described(package: Package) -> Description:
    try:
        return sandbox().describe(artifact=package.artifact)
    except ArtifactMissing:  # cleared away, or made on another machine: the same version again
        artifact = sandbox().build(
            ecosystem=package.ecosystem, name=package.name, version=package.version
        )
    if artifact.artifact != package.artifact:
        raise ImportBroken(
            f"{package} is no longer what was imported: it installs as something else now.",
            "Import the package again.",
        )
    return sandbox().describe(artifact=artifact.artifact)


def _settle(package: Package, tools: list[Tool], errors: dict[str, ToolError]) -> PackageCheck:
    broken = {}
    for tool in tools:
        error = errors.get(tool.export_name)
        if error is None:
            _mark(tool, Health.HEALTHY, _kept_error(tool))
            continue
        error.tool = f"{package.name}::{tool.export_name}"
        broken[tool.export_name] = error.message
        _mark(tool, Health.BROKEN, error.as_dict())
    healthy = tuple(tool.export_name for tool in tools if tool.export_name not in broken)
    return PackageCheck(package=package, healthy=healthy, broken=broken)


def _mark(tool: Tool, health: Health, error: JsonObject | None) -> None:
    Tool.objects.filter(pk=tool.pk).update(
        import_health=health, health_error=storable(error), last_health_check_at=timezone.now()
    )


def _kept_error(tool: Tool) -> JsonObject | None:
    """Keep the error of a tool that loads but failed when it was called."""
    return tool.health_error if tool.execution_health == Health.BROKEN else None
