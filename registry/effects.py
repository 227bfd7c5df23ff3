"""What calls of a tool do, seen through the sequences that call others."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple
from uuid import UUID

from config.lib.ids import uuid_in
from config.lib.types import JsonObject
from registry.annotations import Annotations, annotations_of, annotations_together
from registry.errors import ToolUnavailable
from registry.loading import load_spec
from registry.models import Tool
from registry.models.tool import ToolKind
from registry.specs import ToolSpec


class Called(NamedTuple):
    """A tool that a step calls: as it stands now, and at the version that is called."""

    tool: Tool
    spec: ToolSpec


HOSTED = frozenset({ToolKind.NPM.value, ToolKind.PYTHON.value})
"""Kinds that reach only the hosts that review allows their package."""


def annotations_now(spec: ToolSpec) -> Annotations:
    """Return what is known of a tool now; of a sequence what holds of its steps together."""
    if spec.kind == ToolKind.SEQUENCE:
        return annotations_of_calls(tools_within(spec))
    return annotations_of_calls([spec])


def annotations_of_calls(specs: Iterable[ToolSpec]) -> Annotations:
    """Return what holds of calling all of these; what sequences among them call is among them."""
    calls = [spec for spec in specs if spec.kind != ToolKind.SEQUENCE]
    hosts = _hosts(spec.tool_id for spec in calls if spec.kind in HOSTED)
    return annotations_together(annotations_of(spec, hosts.get(spec.tool_id)) for spec in calls)


def known_of(tool: Tool) -> Annotations | None:
    """Return what is known of a tool as its page shows it; None when that version is not kept."""
    try:
        return annotations_now(load_spec(tool))
    except ToolUnavailable:
        return None


def tools_within(spec: ToolSpec) -> list[ToolSpec]:
    """Return the tools that a sequence calls, as `called_within` does."""
    definition = spec.definition if spec.kind == ToolKind.SEQUENCE else None
    return [called.spec for called in called_within(definition)]


def scopes_within(definition: JsonObject | None) -> dict[str, list[str]]:
    """Return the scopes that the steps of a sequence require now, each with the tools that do."""
    scopes: dict[str, list[str]] = {}
    for tool, spec in called_within(definition):
        for scope in sorted(tool.required_scopes):
            scopes.setdefault(scope, []).append(spec.wire_name)
    return dict(sorted(scopes.items()))


def called_within(definition: JsonObject | None) -> list[Called]:
    """Return what a sequence calls, what the sequences in it call too, each once.

    A tool that is gone, or a version that never was, is left out: its step fails. A step that is
    switched off calls nothing.
    """
    found: dict[tuple[UUID, int], Called] = {}
    waiting = [definition]
    while waiting:
        for called in _steps_of(waiting.pop()):
            spec = called.spec
            key = (spec.tool_id, spec.version)
            if key not in found:
                found[key] = called
                if spec.kind == ToolKind.SEQUENCE:
                    waiting.append(spec.definition)
    return list(found.values())


def _steps_of(definition: JsonObject | None) -> Iterator[Called]:
    called = [step for step in _steps_in(definition) if not step.get("disabled")]
    wanted = {
        (id_, step.get("toolVersion"))
        for step in called
        if (id_ := uuid_in(step.get("toolToRunId")))
    }
    ids = [tool_id for tool_id, _ in wanted]
    tools = Tool.objects.filter(deleted_at=None).in_bulk(ids) if ids else {}
    for tool_id, version in sorted(wanted, key=str):
        try:
            if tool := tools.get(tool_id):
                yield Called(tool, load_spec(tool, version))
        except ToolUnavailable:
            continue


def _steps_in(definition: JsonObject | None) -> list[JsonObject]:
    """Return the steps of a definition, however unfinished."""
    steps = (definition or {}).get("steps")
    return [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []


def _hosts(tool_ids: Iterable[UUID]) -> dict[UUID, list[str]]:
    """Return the hosts that review lets the packages of these tools reach, by tool."""
    ids = list(tool_ids)
    known = Tool.objects.filter(pk__in=ids, package__isnull=False)
    return dict(known.values_list("pk", "package__allowed_hosts")) if ids else {}
