"""See that what is loaded is not what was approved (a rug pull), and have it reviewed.

What was approved stays as it is: models are told of it, and calls are checked against it.
"""

from collections.abc import Mapping, Sequence

from django.db import transaction

from config.lib.errors import DomainError
from config.lib.jsontext import storable
from config.lib.types import JsonObject
from registry.errors import RegistryUnreachable, SandboxUnavailable
from registry.importing.mcp import found_tools
from registry.importing.mcp_tools import SAID, OfferedTool
from registry.importing.python import local_changed
from registry.models import Package, Proposal, Tool
from registry.models.package import Ecosystem, ReviewStatus
from registry.models.proposal import Cause, ProposalState
from registry.review.found import FoundPackage, FoundTool, as_it_is
from registry.review.staging import package_propose
from registry.sandbox.client import sandbox

REASON = "The server says something else than what was approved"


def offered_seen(
    package: Package, offered: Mapping[str, OfferedTool], *, is_whole: bool = True
) -> None:
    """Propose what an approved MCP server says now of its tools, once for each thing it says.

    That is what it says of each, which it newly offers and, where the listing `is_whole`, which it
    offers no more. One that cannot be used is the health check's to tell.
    """
    with transaction.atomic():
        package = Package.objects.select_for_update().get(pk=package.pk)
        if package.review_status != ReviewStatus.APPROVED:
            return
        tools = Tool.objects.filter(package=package, deleted_at=None).order_by("export_name")
        live = {
            tool.export_name: tool for tool in tools if tool.review_status != ReviewStatus.CANDIDATE
        }
        added = [item for item in offered.values() if item.name not in live and not item.problem]
        gone = live.keys() - offered.keys() if is_whole and offered else set()
        found = [
            _as_offered(tool, offered.get(name)) for name, tool in live.items() if name not in gone
        ]
        whole = FoundPackage(
            values=_manifest(package, offered) if added or gone else {},
            tools=[*found, *found_tools(package.name, added)],
        )
        package_propose(package, whole, by=None, cause=Cause.CHECK, reason=REASON)


def _manifest(package: Package, offered: Mapping[str, OfferedTool]) -> JsonObject:
    """Return the manifest as an import would write it now."""
    tools = {tool.name: tool.annotations for tool in offered.values()}
    return {"manifest": {**package.manifest, "tools": storable(tools)}}


def _as_offered(tool: Tool, offered: OfferedTool | None) -> FoundTool:
    if offered is None or offered.problem or _says_the_same(tool, offered.values):
        return as_it_is(tool)
    return FoundTool(export=tool.export_name, values=offered.values, is_checked=False)


def _says_the_same(tool: Tool, values: JsonObject) -> bool:
    return all(getattr(tool, name) == values[name] for name in SAID)


def files_seen(package: Package) -> None:
    """Propose an approved module of the operator's as its files are now, where they changed."""
    if package.ecosystem != Ecosystem.LOCAL or package.review_status != ReviewStatus.APPROVED:
        return
    try:
        artifact = sandbox().build(ecosystem=Ecosystem.LOCAL, name=package.name, version=None)
        if artifact.artifact not in {package.artifact, *_proposed_artifacts(package)}:
            local_changed(package, artifact)
    except (SandboxUnavailable, RegistryUnreachable):
        raise
    except DomainError:
        return  # the files cannot be loaded now; what was approved is a copy that can


def _proposed_artifacts(package: Package) -> Sequence[str]:
    waiting = Proposal.objects.filter(package=package, state=ProposalState.OPEN)
    return [proposal.after.get("artifact", "") for proposal in waiting]
