"""What calls of a tool do, seen through the sequences that call others."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from django.db import connection

from config.lib.ids import uuid_in
from config.lib.types import JsonObject
from registry.annotations import Annotations, annotations_of, annotations_together
from registry.errors import ToolUnavailable
from registry.loading import load_known, load_spec
from registry.models import Tool
from registry.models.tool import ToolKind
from registry.specs import ToolSpec

_READ = ("wire_name", "version", "required_scopes", "deprecated_on", "successor")
"""What of a called tool's row is read; the rest is in its version."""


class Called(NamedTuple):
    """A tool that a step calls: as it stands now (`_READ`), and at the version that is called."""

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
    calls = list(specs)
    return _together(calls, _hosts(spec.tool_id for spec in calls if spec.kind in HOSTED))


def _together(specs: Iterable[ToolSpec], hosts: Mapping[UUID, list[str]]) -> Annotations:
    return annotations_together(
        annotations_of(spec, hosts.get(spec.tool_id))
        for spec in specs
        if spec.kind != ToolKind.SEQUENCE
    )


def annotations_of_each(specs: Sequence[ToolSpec]) -> list[Annotations]:
    """Return what `annotations_now` says of each, asking once for all of them together."""
    inside = iter(within_each([s.definition for s in specs if s.kind == ToolKind.SEQUENCE]))
    calls = [
        [called.spec for called in next(inside)] if spec.kind == ToolKind.SEQUENCE else [spec]
        for spec in specs
    ]
    hosts = _hosts(spec.tool_id for each in calls for spec in each if spec.kind in HOSTED)
    return [_together(each, hosts) for each in calls]


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
    return within_each([definition])[0]


def within_each(definitions: Sequence[JsonObject | None]) -> list[list[Called]]:
    """Return what `called_within` does of each, with two queries for each depth of sequences."""
    found: list[dict[tuple[UUID, int], Called]] = [{} for _ in definitions]
    waiting = [[definition] for definition in definitions]
    while any(waiting):
        steps = [{step for each in some for step in _steps_of(each)} for some in waiting]
        known = _called(set().union(*steps))
        waiting = [[] for _ in definitions]
        for inside, wanted, further in zip(found, steps, waiting, strict=True):
            for step in sorted(wanted, key=str):
                if (called := known.get(step)) is None:
                    continue
                key = (called.spec.tool_id, called.spec.version)
                if key not in inside:
                    inside[key] = called
                    if called.spec.kind == ToolKind.SEQUENCE:
                        further.append(called.spec.definition)
    return [list(each.values()) for each in found]


_Step = tuple[UUID, int | None]


def _steps_of(definition: JsonObject | None) -> set[_Step]:
    """Return the ids and versions of the tools that steps call."""
    return {
        (id_, step.get("toolVersion"))
        for step in _steps_in(definition)
        if not step.get("disabled") and (id_ := uuid_in(step.get("toolToRunId")))
    }


def _called(steps: Collection[_Step]) -> dict[_Step, Called]:
    ids = {tool_id for tool_id, _ in steps}
    tools = Tool.objects.filter(deleted_at=None).only(*_READ).in_bulk(ids) if ids else {}
    living = [step for step in steps if step[0] in tools]
    specs = load_known([(tools[tool_id], version) for tool_id, version in living])
    return {
        step: Called(tools[step[0]], spec)
        for step, spec in zip(living, specs, strict=True)
        if spec is not None
    }


def _steps_in(definition: JsonObject | None) -> list[JsonObject]:
    """Return the steps of a definition, however unfinished."""
    steps = (definition or {}).get("steps")
    return [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []


def _hosts(tool_ids: Iterable[UUID]) -> dict[UUID, list[str]]:
    """Return the hosts that review lets the packages of these tools reach, by tool."""
    if not (ids := list(tool_ids)):
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_HOSTS, [ids])
        return dict(cursor.fetchall())


_HOSTS = """
SELECT tool.id, package.allowed_hosts
FROM registry_tool tool JOIN registry_package package ON package.id = tool.package_id
WHERE tool.id = ANY(%s)
"""
"""In SQL, for a page of a list has five hundred ids, and Django makes a parameter of each."""
