"""Write the rows of a package's tools, found again by their exports and never doubled."""

from collections.abc import Collection

from django.contrib.auth.models import User

from config.lib.types import JsonObject
from registry.models import Package, Tool
from registry.review.found import with_governed
from registry.services import free_wire_name, tool_delete, tool_publish


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
    values = with_governed(tool, values)
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


def tools_retire(package: Package, *, keep: Collection[str]) -> list[Tool]:
    """Take out the living tools whose exports are not in `keep`, and return them."""
    gone = list(Tool.objects.filter(package=package, deleted_at=None).exclude(export_name__in=keep))
    for tool in gone:
        tool_delete(tool)
    return gone
