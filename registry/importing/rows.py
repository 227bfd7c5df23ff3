"""Write the rows of a package and its tools: found again by their names, never doubled."""

from collections.abc import Collection

from django.contrib.auth.models import User
from django.utils import timezone

from config.lib.types import JsonObject
from registry.models import Package, Tool
from registry.models.package import ReviewStatus
from registry.models.tool import Health, Visibility
from registry.services import free_wire_name, tool_delete, tool_publish


def locked_package(*, ecosystem: str, name: str, defaults: JsonObject) -> tuple[Package, bool]:
    """Return the package, made if need be and whether it was, locked until the transaction ends.

    Two imports of one package at the same time wait for each other here.
    """
    package, made = Package.objects.get_or_create(ecosystem=ecosystem, name=name, defaults=defaults)
    return Package.objects.select_for_update().get(pk=package.pk), made


def tools_by_export(package: Package) -> dict[str, Tool]:
    """Return every tool that the package ever had, those taken out included."""
    return {tool.export_name: tool for tool in Tool.objects.filter(package=package)}


def tool_put(
    tool: Tool | None,
    package: Package,
    export: str,
    values: JsonObject,
    *,
    name: tuple[str | None, str],
    author: User | None,
    reason: str,
) -> Tool:
    """Create or update the tool behind an export and publish it where it changed.

    `name` is `(package, export)` as `free_wire_name` takes it; a living tool keeps its wire name.
    """
    tool = tool or Tool(package=package, export_name=export)
    tool.export_name = export
    tool.package = package  # the very instance that was changed, not an older copy
    if not tool.wire_name or tool.deleted_at:
        tool.wire_name = free_wire_name(*name, tool_id=tool.pk)
    tool.deleted_at = None
    for field, value in values.items():
        setattr(tool, field, value)
    tool_publish(tool, author=author, reason=reason)
    return tool


def tool_bring(
    known: Tool | None,
    package: Package,
    export: str,
    values: JsonObject,
    *,
    author: User | None,
    reason: str = "",
    note: str = "",
) -> JsonObject:
    """Write what an import found of one tool and return its entry of the report.

    `values` has the fields of its row; with a `health_error` the tool cannot be called. `note` is
    told where it can.
    """
    before = known.version if known and known.deleted_at is None else 0
    error = values.get("health_error")
    values = {
        **values,
        "visibility": Visibility.PUBLIC,
        "import_health": Health.BROKEN if error else Health.HEALTHY,
        "last_health_check_at": timezone.now(),
    }
    if known is None:  # its package's review decides, until a governor stops this one tool
        values["review_status"] = ReviewStatus.APPROVED
    tool = tool_put(
        known,
        package,
        export,
        values,
        name=(package.name, export),
        author=author,
        reason=(reason or f"Imported {package}")[:200],
    )
    if error:
        return report_entry(tool, "broken", error["message"])
    if not before:
        return report_entry(tool, "added", note)
    return report_entry(tool, "unchanged" if tool.version == before else "updated", note)


def report_entry(tool: Tool, status: str, message: str = "") -> JsonObject:
    """Return what an import's report says of one tool."""
    return {
        "export": tool.export_name,
        "tool": str(tool.pk),
        "status": status,
        "message": message,
    }


def tools_retire(package: Package, *, keep: Collection[str]) -> list[Tool]:
    """Take out the living tools whose exports are not in `keep`, and return them."""
    gone = list(Tool.objects.filter(package=package, deleted_at=None).exclude(export_name__in=keep))
    for tool in gone:
        tool_delete(tool)
    return gone
