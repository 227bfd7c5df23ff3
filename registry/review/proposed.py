"""A package as it would be with what waits for review: what further changes of it start from."""

from registry.models import Package, Proposal, Tool, ToolVersion
from registry.models.package import ReviewStatus
from registry.review.advisories import UNKNOWN
from registry.review.found import FoundPackage, FoundTool, as_it_is, package_values, package_with
from registry.review.selectors import open_proposal_of
from registry.specs import TOOL_FIELDS


def package_as_proposed(package: Package) -> Package:
    """Return the row with what is proposed of it, not to be saved; the row where nothing is."""
    proposal = _staged(package)
    return package_with(package, proposal.after) if proposal else package


def found_as_proposed(package: Package) -> FoundPackage:
    """Return the whole package as it is proposed, as if an import had just found it."""
    proposal = _staged(package)
    tools = Tool.objects.filter(package=package, deleted_at=None).order_by("export_name")
    if proposal is None:
        return FoundPackage(
            values=package_values(package), tools=[as_it_is(tool) for tool in tools]
        )
    entries = {entry["tool"]: entry for entry in proposal.versions}
    rows = ToolVersion.objects.filter(tool__package=package, tool_id__in=entries)
    versions = {(str(row.tool_id), row.number): row for row in rows}
    found = []
    for tool in tools:
        entry = entries.get(str(tool.pk))
        if entry:
            version = versions[str(tool.pk), entry["number"]]
            found.append(_found(tool, version, entry.get("error"), "error" in entry))
        elif str(tool.pk) not in proposal.removed:
            found.append(as_it_is(tool))
    notes = [item for item in proposal.findings if item["code"] == UNKNOWN]
    return FoundPackage(values=proposal.after, tools=found, notes=notes)


def _found(tool: Tool, version: ToolVersion, error: object, is_checked: bool) -> FoundTool:
    said = version.snapshot
    values = {name: said[name] for name in TOOL_FIELDS if name in said and name != "export_name"}
    return FoundTool(
        export=said["export_name"],
        known_as=tool.export_name,
        values=values,
        error=error if isinstance(error, dict) else None,
        is_checked=is_checked,
    )


def _staged(package: Package) -> Proposal | None:
    """Return the open proposal where it stands beside live rows."""
    approved = package.review_status == ReviewStatus.APPROVED
    return open_proposal_of(package) if approved else None
