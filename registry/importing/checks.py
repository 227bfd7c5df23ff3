"""How the tools of one ecosystem are looked at, without calling them."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from registry.errors import ArtifactMissing, ImportBroken, ToolError, UnknownExport
from registry.importing.described import drift_error
from registry.models import Package, Tool
from registry.models.package import Ecosystem
from registry.sandbox.client import sandbox
from registry.sandbox.contract import Description


class Check(Protocol):
    """Looks at the tools of one package."""

    def __call__(self, package: Package, tools: Sequence[Tool]) -> Mapping[str, ToolError]:
        """Return export name → what is wrong with it; the tools that are not named are well.

        Raises SandboxUnavailable or RegistryUnreachable where nothing can be told of the package,
        and another ToolError when all of its tools are broken alike.
        """


def exports_check(package: Package, tools: Sequence[Tool]) -> Mapping[str, ToolError]:
    """Read the exports of a built package again in the sandbox."""
    description = _described(package)
    exports = {name for tool in description.tools for name in (tool.export, *tool.aliases)}
    wrong: dict[str, ToolError] = {
        tool.export_name: UnknownExport(f"{package} does not export “{tool.export_name}”.")
        for tool in tools
        if tool.export_name not in exports
    }
    for finding in package.findings:
        if finding["code"] == "drift" and finding["path"] in wrong and finding.get("candidates"):
            drift = drift_error(finding["path"], finding["message"], finding["candidates"])
            wrong[finding["path"]] = drift
    for problem in description.problems:
        if problem.export in wrong:
            wrong[problem.export] = ImportBroken(problem.message)
    return wrong


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


CHECKS: dict[str, Check] = {Ecosystem.NPM: exports_check}
"""Ecosystem → how its packages are looked at. A package of another one is never checked."""

ASKS_UPSTREAM = {Ecosystem.MCP}
"""Ecosystems whose check asks the service itself, so that a look shows that it answers again."""
