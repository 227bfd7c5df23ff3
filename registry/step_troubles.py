"""Which sequences cannot run now, because a tool that a step calls is not to be had.

It is worked out anew whenever it is asked, and never stored: a sequence is well again as soon as
its tools are.
"""

from collections.abc import Iterable, Iterator, Mapping
from uuid import UUID

from config.lib.ids import uuid_in
from config.lib.types import JsonObject
from registry.models import Tool
from registry.models.health import BROKEN_STATES
from registry.models.tool import ToolKind
from registry.selectors import BLOCKED

DEEPEST = 5
"""Levels of sequences inside sequences that are looked at, with one query each."""


def step_troubles(tools: Iterable[Tool]) -> dict[UUID, str]:
    """Return, of those sequences among `tools` that cannot run, what is wrong with the first step.

    Tools that are no sequences cost nothing.
    """
    sequences = {tool.pk: tool for tool in tools if tool.kind == ToolKind.SEQUENCE}
    called = _called(sequences.values())
    told = {pk: _first(tool, called, depth=1) for pk, tool in sequences.items()}
    return {pk: trouble for pk, trouble in told.items() if trouble}


def tool_trouble(tool: Tool) -> str:
    """Return why no step can call a tool at present, as `that …`; empty where it can."""
    package = tool.package
    if tool.deleted_at is not None:
        return "that was deleted"
    if tool.review_status in BLOCKED or (package and package.review_status in BLOCKED):
        return "that a reviewer has refused"
    if tool.stopped_at or (package and package.stopped_at):
        return "that a governor has stopped"
    return "that is broken" if tool.health_state in BROKEN_STATES else ""


def _called(sequences: Iterable[Tool]) -> dict[UUID, Tool]:
    """Return the tools that sequences call, directly and through others."""
    known: dict[UUID, Tool] = {}
    wanted = {pk for tool in sequences for _, pk, _ in _steps(tool) if pk}
    for _ in range(DEEPEST):
        if not (wanted := wanted - known.keys()):
            break
        found = Tool.objects.filter(pk__in=wanted).select_related("package").in_bulk()
        known |= found
        inner = (tool for tool in found.values() if tool.kind == ToolKind.SEQUENCE)
        wanted = {pk for tool in inner for _, pk, _ in _steps(tool) if pk}
    return known


def _first(sequence: Tool, called: Mapping[UUID, Tool], *, depth: int) -> str:
    for number, pk, version in _steps(sequence):
        tool = called.get(pk) if pk else None
        if tool is None:
            if depth < DEEPEST:
                return f"Step {number} calls a tool that is not there"
            continue
        if trouble := tool_trouble(tool):
            return f"Step {number} calls a tool {trouble}"
        if version in tool.blocked_versions:
            return f"Step {number} calls a version that a reviewer has refused"
        live = tool.kind == ToolKind.SEQUENCE and version in (None, tool.version)
        if live and depth < DEEPEST and _first(tool, called, depth=depth + 1):
            return f"Step {number} calls a sequence that cannot run now"
    return ""


def _steps(sequence: Tool) -> Iterator[tuple[int, UUID | None, int | None]]:
    """Yield the number, the tool and the pinned version of each step that calls one."""
    steps: list[JsonObject] = (sequence.definition or {}).get("steps") or []
    for position, step in enumerate(steps, start=1):
        if step.get("approval") or step.get("disabled"):
            continue
        yield (
            step.get("stepNumber", position),
            uuid_in(step.get("toolToRunId")),
            step.get("toolVersion"),
        )
