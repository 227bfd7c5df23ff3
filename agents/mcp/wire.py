"""Tools in the shape in which MCP clients are told of them."""

from collections.abc import Iterable

from config.lib.types import JsonObject
from registry.annotations import Annotations
from registry.effects import annotations_of_each
from registry.specs import ToolSpec

META = "outfitter"
"""What the names of our own facts in `_meta` begin with."""


def tools_wire(specs: Iterable[ToolSpec], version: str) -> list[JsonObject]:
    """Return tools as `tools/list` of a protocol revision has them, in their order."""
    specs = list(specs)
    known = annotations_of_each(specs)
    return [
        tool_wire(spec, annotations, version)
        for spec, annotations in zip(specs, known, strict=True)
    ]


def tool_wire(spec: ToolSpec, annotations: Annotations, version: str) -> JsonObject:
    """Return `{name, title?, description, inputSchema, outputSchema?, annotations, _meta}`.

    The description is the one that models read. `_meta` says which tool it is here.
    """
    output = output_schema_of(spec, version)
    return {
        "name": spec.wire_name,
        **({"title": spec.title} if spec.title else {}),
        "description": spec.told,
        "inputSchema": input_schema_of(spec),
        **({"outputSchema": output} if output is not None else {}),
        "annotations": {
            **({"title": spec.title} if spec.title else {}),
            "readOnlyHint": annotations.read_only,
            "destructiveHint": annotations.destructive,
            "idempotentHint": annotations.idempotent,
            "openWorldHint": annotations.open_world,
        },
        "_meta": {
            f"{META}/tool": str(spec.tool_id),
            f"{META}/version": spec.version,
            f"{META}/kind": spec.kind,
            f"{META}/scopes": sorted(spec.required_scopes),
        },
    }


def input_schema_of(spec: ToolSpec) -> JsonObject:
    """Return the input schema; what it leaves open of its root is an object, as arguments are."""
    schema = dict(spec.input_schema)
    if schema.get("type") != "object":
        schema = {**schema, "type": "object"}
    if len(schema) == 1:
        schema["properties"] = {}
    return schema


def output_schema_of(spec: ToolSpec, version: str) -> JsonObject | None:
    """Return the output schema; None where there is none that this revision can say.

    Until 2025-11-25 structured content was always an object; since then it is any JSON value.
    """
    schema = spec.output_schema
    if not schema:
        return None
    return dict(schema) if is_any_value(version) or schema.get("type") == "object" else None


def is_any_value(version: str) -> bool:
    """Say whether a protocol revision lets structured content be other than an object."""
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS

    return version in MODERN_PROTOCOL_VERSIONS
