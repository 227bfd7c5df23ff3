"""What an import, a sync or a check found of a package, before anything is written."""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field

from config.lib.types import JsonObject
from registry.models import Package, Tool
from registry.models.package import Ecosystem
from registry.scopes import scopes_with
from registry.specs import snapshot_of

PACKAGE_FIELDS = (
    "version",
    "integrity",
    "artifact",
    "description",
    "category",
    "env",
    "settings",
    "allowed_hosts",
    "frameworks",
    "tier",
    "manifest",
    "findings",
)
"""The fields of a package that are proposed and approved."""

_PINNED = ("artifact", "integrity", "description", "env", "allowed_hosts")
_SAID_BY_SERVER = ("instructions", "tools", "hosts")


@dataclass(frozen=True, kw_only=True)
class FoundTool:
    """One tool: `values` are fields of its row.

    `first` are fields that are set where it is new, and belong to people afterwards.
    `error` keeps it from being called; where nobody looked (`is_checked`) its health stays.
    `name` is what its wire name is made of where it is new. `known_as` is the export that it
    stands under here, where that is another one. `note` is told in the report.
    """

    export: str
    values: JsonObject
    first: JsonObject = field(default_factory=dict)
    name: str = ""
    known_as: str = ""
    error: JsonObject | None = None
    is_checked: bool = True
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class FoundPackage:
    """A whole package: `values` are some of `PACKAGE_FIELDS`, `tools` all that it has now.

    `gone` is export → why a tool that is here is not among them any more; what it does not name
    is told as `otherwise_gone`. `notes` are findings of this one look, beside those of the scans.
    """

    values: JsonObject
    tools: Sequence[FoundTool]
    gone: Mapping[str, str] = field(default_factory=dict)
    otherwise_gone: str = ""
    notes: Sequence[JsonObject] = ()


def as_it_is(tool: Tool) -> FoundTool:
    """Return a tool of which nothing changes but what its package says."""
    return FoundTool(export=tool.export_name, values={}, is_checked=False)


def with_governed(tool: Tool | None, values: JsonObject) -> JsonObject:
    """Return what was found of a tool, with the scopes that a governor added or took away."""
    if tool is None or "required_scopes" not in values:
        return values
    scopes = scopes_with(
        values["required_scopes"], added=tool.scopes_added, dropped=tool.scopes_dropped
    )
    return {**values, "required_scopes": scopes}


def package_values(package: Package) -> JsonObject:
    """Return what is proposed and approved of a package as its row says it."""
    return {name: getattr(package, name) for name in PACKAGE_FIELDS}


def package_with(package: Package, values: JsonObject) -> Package:
    """Return a copy of the row with these values, not to be saved."""
    proposed = copy(package)
    for name, value in values.items():
        setattr(proposed, name, value)
    return proposed


def pinned(package: Package, tools: Iterable[Tool]) -> JsonObject:
    """Return what an approval holds fast: equal values mean that there is nothing to review.

    It is the code, what is said of every tool, what is read and what is reached. A server's own
    version and the protocol that it speaks are not: they change with every release of it.
    """
    said = {}
    for tool in tools:
        tool.package = package
        said[tool.export_name] = {k: v for k, v in snapshot_of(tool).items() if k != "package"}
    loaded = {name: value for name, value in package.settings.items() if name != "protocol"}
    return {
        **{name: getattr(package, name) for name in _PINNED},
        "version": package.version if package.artifact else "",
        "settings": {} if package.ecosystem == Ecosystem.OPENAPI else loaded,
        "said": {name: package.manifest.get(name) for name in _SAID_BY_SERVER},
        "tools": said,
    }
