"""How the tools of one ecosystem are looked at, without calling them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from config.lib.errors import DomainError
from registry.errors import (
    ArtifactMissing,
    HostRefused,
    ImportBroken,
    MissingCredential,
    RegistryUnreachable,
    SandboxUnavailable,
    ToolError,
    ToolTimeout,
    UnknownExport,
    UpstreamAuth,
    UpstreamUnreachable,
)
from registry.importing.described import drift_error
from registry.importing.drifting import files_seen, offered_seen
from registry.importing.errors import NothingTold
from registry.importing.mcp import listing_of, own_values
from registry.importing.mcp_tools import offered_tools
from registry.importing.openapi_check import openapi_check
from registry.importing.python import describe_python
from registry.mcp.client import Listing, Target
from registry.mcp.settings import HttpServer, StdioServer, server_of
from registry.models import Package, Tool
from registry.models.package import Ecosystem
from registry.needs import required_by
from registry.sandbox.client import sandbox
from registry.sandbox.contract import Description

Found = TypeVar("Found")


class Check(Protocol):
    """Looks at the tools of one package."""

    def __call__(self, package: Package, tools: Sequence[Tool]) -> Mapping[str, ToolError]:
        """Return export name → what is wrong with it; the tools that are not named are well.

        Raises SandboxUnavailable, RegistryUnreachable or NothingTold where nothing can be told of
        the package, and another ToolError when all of its tools are broken alike.
        """


def exports_check(package: Package, tools: Sequence[Tool]) -> Mapping[str, ToolError]:
    """Read the exports of a built package again in the sandbox."""
    description = _built(package, lambda artifact: sandbox().describe(artifact=artifact))
    wrong = _not_exported(package, tools, description)
    for finding in package.findings:
        if finding["code"] == "drift" and finding["path"] in wrong and finding.get("candidates"):
            drift = drift_error(finding["path"], finding["message"], finding["candidates"])
            wrong[finding["path"]] = drift
    return wrong | _unreadable(description, wrong)


def python_check(package: Package, tools: Sequence[Tool]) -> Mapping[str, ToolError]:
    """Ask a Python package again for its tools, under its present settings."""
    files_seen(package)
    description = _built(
        package, lambda artifact: describe_python(artifact, package.settings, package.env)
    )
    wrong = _not_exported(package, tools, description)
    for item in description.unavailable:
        if item.export in wrong:
            wrong[item.export] = ImportBroken(
                f"“{item.export}” does not offer itself with the present settings: {item.reason}",
                "Import the package again with settings that suit it.",
            )
    return wrong | _unreadable(description, wrong)


def mcp_check(package: Package, tools: Sequence[Tool]) -> Mapping[str, ToolError]:
    """Ask an MCP server for its tools, with the keys of whoever added it."""
    server = server_of(package.settings)
    env = own_values(package.added_by, package.env)

    def listed(artifact: str) -> Listing:
        network = tuple(package.allowed_hosts)
        return listing_of(
            Target(server=server, name=package.name, artifact=artifact, env=env, network=network)
        )

    try:
        listing = _built(package, listed) if isinstance(server, StdioServer) else listed("")
    except (SandboxUnavailable, RegistryUnreachable):
        raise
    except ToolError as error:
        lacking = [name for name in required_by(package.env) if name not in env]
        raise _meant(error, lacking, package) from error
    offered = {tool.name: tool for tool in offered_tools(listing)[0]}
    offered_seen(package, offered, is_whole=not listing.problems)
    wrong: dict[str, ToolError] = {}
    for tool in tools:
        found = offered.get(tool.export_name)
        if found is None:
            wrong[tool.export_name] = UnknownExport(
                f"{package.name} no longer has the tool “{tool.export_name}”."
            )
        elif found.problem:
            wrong[tool.export_name] = ImportBroken(found.problem)
    return wrong


def _meant(error: ToolError, lacking: Sequence[str], package: Package) -> DomainError:
    """Return what a failed listing says of the server, or NothingTold.

    One person's missing or refused key says nothing of the tools, nor does a rule of ours.
    """
    if lacking or isinstance(error, MissingCredential):
        names = ", ".join(lacking) or "a key"
        return NothingTold(f"Whoever added {package.name} has not set {names}.")
    if isinstance(error, UpstreamAuth) and package.env:
        return NothingTold(f"{package.name} refused the key of whoever added it.")
    if isinstance(error, HostRefused):
        return NothingTold(error.message, error.hint)
    if isinstance(error, ToolTimeout) and isinstance(server_of(package.settings), HttpServer):
        return UpstreamUnreachable(error.message)
    return error


def _not_exported(
    package: Package, tools: Sequence[Tool], description: Description
) -> dict[str, ToolError]:
    exports = {name for tool in description.tools for name in (tool.export, *tool.aliases)}
    return {
        tool.export_name: UnknownExport(f"{package} does not export “{tool.export_name}”.")
        for tool in tools
        if tool.export_name not in exports
    }


def _unreadable(description: Description, wrong: Mapping[str, ToolError]) -> dict[str, ToolError]:
    """Return the exports among those that are wrong which are there but cannot be read."""
    return {
        problem.export: ImportBroken(problem.message)
        for problem in description.problems
        if problem.export in wrong
    }


def _built(package: Package, look: Callable[[str], Found]) -> Found:
    """Look at a package's artifact; one that is gone is built again, and must be the same."""
    try:
        return look(package.artifact)
    except ArtifactMissing:  # cleared away, or made on another machine: the same version again
        ecosystem, name = _source(package)
        artifact = sandbox().build(ecosystem=ecosystem, name=name, version=package.version)
    if artifact.artifact != package.artifact:
        raise ImportBroken(
            f"{package} is no longer what was imported: it installs as something else now.",
            "Import the package again.",
        )
    return look(artifact.artifact)


def _source(package: Package) -> tuple[str, str]:
    """Return the ecosystem and the name that a package is installed by."""
    if package.ecosystem != Ecosystem.MCP:
        return package.ecosystem, package.name
    server = server_of(package.settings)
    assert isinstance(server, StdioServer)  # noqa: S101 - one at an address has no artifact
    return server.ecosystem, server.package


CHECKS: dict[str, Check] = {
    Ecosystem.NPM: exports_check,
    Ecosystem.PYPI: python_check,
    Ecosystem.LOCAL: python_check,
    Ecosystem.UPLOAD: python_check,
    Ecosystem.MCP: mcp_check,
    Ecosystem.OPENAPI: openapi_check,
}
"""Ecosystem → how its packages are looked at. A package of another one is never checked."""


def asks_upstream(package: Package) -> bool:
    """Say whether a look asks the service itself, so that it shows that it answers again."""
    if package.ecosystem == Ecosystem.OPENAPI:
        return True
    return package.ecosystem == Ecosystem.MCP and package.settings.get("transport") == "http"
