"""The frozen, in-memory description of a callable tool."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from config.lib.types import JsonObject, JsonSchema
from registry.api_definition import variables_of
from registry.models import Package, Tool, ToolVersion
from registry.models.package import Ecosystem

GOVERNED = ("bindings", "env")
"""Settings of a package that people decided on: which export a declared tool is, what it reads."""

TOOL_FIELDS = (
    "kind",
    "title",
    "description",
    "category",
    "input_schema",
    "output_schema",
    "ai_agent",
    "required_scopes",
    "raw_string_args",
    "timeout_seconds",
    "export_name",
    "definition",
)
"""The fields of a tool's row that its versions keep."""


@dataclass(frozen=True, kw_only=True)
class EnvVariable:
    """A variable that a package declares."""

    name: str
    description: str = ""
    required: bool = True


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """One version of a tool, ready to be shown to a model and run.

    It holds no credential, no user and no conversation, so it may be cached and shared.
    `raw_string_args` are the arguments in which «…» is left as it stands.
    `package` is `{ecosystem, name, version, integrity, artifact, settings?}` or None.
    """

    tool_id: UUID
    version: int
    digest: str
    kind: str
    wire_name: str
    title: str
    description: str
    category: str
    input_schema: JsonSchema
    output_schema: JsonSchema | None
    ai_agent: Mapping[str, object]
    required_scopes: frozenset[str]
    timeout_seconds: int
    export_name: str
    definition: JsonObject | None
    package: JsonObject | None
    env: tuple[EnvVariable, ...]
    raw_string_args: frozenset[str] = frozenset()
    notice: str = ""
    """What models are told beside the description: that the tool is deprecated, say."""
    known_as: str = ""
    """The tool's own wire name, where an agent calls it by another (`wire_name`)."""

    @property
    def own_name(self) -> str:
        """Return the wire name that the tool has in the catalogue."""
        return self.known_as or self.wire_name

    @property
    def told(self) -> str:
        """Return the description as models read it."""
        return f"{self.description} {self.notice}".strip()

    @property
    def label(self) -> str:
        """Return the name a person knows it by: `package::export`, or the wire name."""
        if self.package and self.kind != "builtin":
            return f"{self.package['name']}::{self.export_name}"
        return self.wire_name


def snapshot_of(tool: Tool) -> JsonObject:
    """Return all that decides how a tool is described and run; a version keeps just this."""
    package = tool.package
    return {
        "kind": tool.kind,
        "title": tool.title,
        "description": tool.description,
        "category": tool.category,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "ai_agent": tool.ai_agent,
        "required_scopes": sorted(tool.required_scopes),
        # Left out where there are none, so that older versions keep their digests.
        **({"raw_string_args": sorted(tool.raw_string_args)} if tool.raw_string_args else {}),
        "timeout_seconds": tool.timeout_seconds,
        "export_name": tool.export_name,
        "definition": tool.definition,
        "package": {
            "ecosystem": package.ecosystem,
            "name": package.name,
            "version": package.version,
            "integrity": package.integrity,
            "artifact": package.artifact,
            "env": _env_of(tool, package),
            **({"settings": loaded} if (loaded := _how_loaded(package)) else {}),
        }
        if package
        else None,
    }


def _env_of(tool: Tool, package: Package) -> list[JsonObject]:
    """Return the package's variables; of an API's only those that this one request signs in with.

    So the tools of an API keep their version while others of it come and go.
    """
    if package.ecosystem != Ecosystem.OPENAPI:
        return list(package.env)
    own = variables_of(tool.definition or {})
    return [item for item in package.env if item["name"] in own]


def _how_loaded(package: Package) -> JsonObject:
    """Return the package's settings but for what was decided about it here (`GOVERNED`).

    Those of an OpenAPI document say what was taken of it, which the tools' definitions hold.
    """
    if package.ecosystem == Ecosystem.OPENAPI:
        return {}
    return {name: value for name, value in package.settings.items() if name not in GOVERNED}


def _raw_string_args(snapshot: JsonObject) -> frozenset[str]:
    named: list[str] = snapshot.pop("raw_string_args", [])
    return frozenset({"code"} if snapshot["kind"] == "code" else named)


def _of_sign_in(
    definition: JsonObject, declared: Mapping[str, JsonObject]
) -> dict[str, JsonObject]:
    """Return the variables that an HTTP tool's own sign-in reads, in the package's words."""
    told = "For the sign-in of its requests."
    required = not definition.get("signInOptional")
    return {
        name: {"description": told, **declared.get(name, {}), "name": name, "required": required}
        for name in variables_of(definition)
    }


def spec_of(version: ToolVersion, *, wire_name: str) -> ToolSpec:
    """Build the spec of a stored version under the tool's present wire name."""
    snapshot = dict(version.snapshot)
    package = snapshot.pop("package")
    env = package.pop("env", []) if package else []
    declared = {item["name"]: item for item in env}
    if snapshot["kind"] == "api":
        declared = _of_sign_in(snapshot.get("definition") or {}, declared)
    return ToolSpec(
        tool_id=version.tool_id,
        version=version.number,
        digest=version.digest,
        wire_name=wire_name,
        package=package,
        env=tuple(
            EnvVariable(
                name=item["name"],
                description=item.get("description") or "",
                required=item.get("required", True),
            )
            for item in declared.values()
        ),
        raw_string_args=_raw_string_args(snapshot),
        **{**snapshot, "required_scopes": frozenset(snapshot["required_scopes"])},
    )
