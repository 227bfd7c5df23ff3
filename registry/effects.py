"""What calls of a tool do, seen through the sequences that call others."""

from collections.abc import Iterator
from uuid import UUID

from registry.annotations import Annotations, annotations_of, annotations_together
from registry.errors import ToolUnavailable
from registry.loading import load_spec
from registry.models import Package, Tool
from registry.models.tool import ToolKind
from registry.specs import ToolSpec

HOSTED = frozenset({ToolKind.NPM.value, ToolKind.PYTHON.value})
"""Kinds that reach only the hosts that review allows their package."""


def annotations_now(spec: ToolSpec) -> Annotations:
    """Return what is known of a tool now; of a sequence what holds of its steps together."""
    if spec.kind == ToolKind.SEQUENCE:
        inner = [tool for tool in tools_within(spec) if tool.kind != ToolKind.SEQUENCE]
        return annotations_together(map(annotations_now, inner))
    return annotations_of(spec, _hosts(spec) if spec.kind in HOSTED else None)


def known_of(tool: Tool) -> Annotations | None:
    """Return what is known of a tool as its page shows it; None when that version is not kept."""
    try:
        return annotations_now(load_spec(tool))
    except ToolUnavailable:
        return None


def tools_within(spec: ToolSpec) -> list[ToolSpec]:
    """Return the tools that a sequence calls, those of the sequences in it too, each once.

    A tool that is gone, or a version that never was, is left out: its step fails.
    """
    found: dict[tuple[UUID, int], ToolSpec] = {}
    waiting = [spec]
    while waiting:
        for inner in _steps_of(waiting.pop()):
            key = (inner.tool_id, inner.version)
            if key not in found:
                found[key] = inner
                waiting.append(inner)
    return list(found.values())


def _steps_of(spec: ToolSpec) -> Iterator[ToolSpec]:
    steps = (spec.definition or {}).get("steps", ()) if spec.kind == ToolKind.SEQUENCE else ()
    wanted = {(id_, step.get("toolVersion")) for step in steps if (id_ := _id_of(step))}
    tools = Tool.objects.filter(deleted_at=None).in_bulk([tool_id for tool_id, _ in wanted])
    for tool_id, version in sorted(wanted, key=str):
        try:
            if tool := tools.get(tool_id):
                yield load_spec(tool, version)
        except ToolUnavailable:
            continue


def _id_of(step: dict[str, object]) -> UUID | None:
    try:
        return UUID(str(step.get("toolToRunId")))
    except ValueError:
        return None


def _hosts(spec: ToolSpec) -> list[str] | None:
    hosts = Package.objects.filter(tools=spec.tool_id).values_list("allowed_hosts", flat=True)
    return hosts.first()
