"""Follow sequences into the sequences that they call."""

from collections.abc import Iterable, Iterator
from uuid import UUID

from config.lib.ids import uuid_in
from config.lib.types import JsonObject
from registry.models import Tool, ToolVersion
from registry.models.tool import ToolKind
from sequences.definition import Definition, Problem, problem_at

MAX_DEPTH = 5
"""How many sequences may stand inside one another."""

Node = tuple[str, int | None]
"""A tool's id, and the version that a step pins."""


class CycleFoundError(Exception):
    """A sequence is reached from itself."""


def nesting_problems(definition: Definition, tool_id: UUID) -> Iterator[Problem]:
    """Find steps that lead back to the sequence `tool_id`, or too deep into others.

    A step that names the sequence itself is left to `validation`; one that is switched off calls
    nothing.
    """
    depths: dict[Node, int] = {}
    sequences = _sequences_among(step.tool for step in definition.steps if not step.disabled)
    for index, step in enumerate(definition.steps):
        if step.tool not in sequences or step.tool == str(tool_id) or step.disabled:
            continue
        place = ("steps", index, "toolToRunId")
        try:
            depth = 1 + _depth((step.tool, step.tool_version), (str(tool_id),), depths)
        except CycleFoundError:
            yield problem_at(
                place,
                "This sequence calls, through others, the one you are editing, and would never "
                "end. Choose another tool.",
            )
            continue
        if depth > MAX_DEPTH:
            yield problem_at(
                place,
                f"Sequences stand inside one another more than {MAX_DEPTH} deep here. "
                "Call the inner tools directly.",
            )


def _sequences_among(tool_ids: Iterable[str]) -> set[str]:
    """Return the ids that are those of sequences: other tools lead nowhere, and cost no query."""
    wanted = {found for tool_id in tool_ids if (found := uuid_in(tool_id))}
    rows = Tool.objects.filter(pk__in=wanted, kind=ToolKind.SEQUENCE, deleted_at=None)
    return set(map(str, rows.values_list("pk", flat=True)))


def _depth(node: Node, path: tuple[str, ...], depths: dict[Node, int]) -> int:
    """Return how many sequences stand inside one another from here on; 0 for another tool."""
    if node[0] in path:
        raise CycleFoundError
    if node not in depths:
        definition = _definition_of(node)
        below = 0
        if definition is not None and len(path) <= MAX_DEPTH:
            inner = [
                (tool, step.get("toolVersion"))
                for step in definition["steps"]
                if (tool := step.get("toolToRunId")) and not step.get("disabled")
            ]
            below = max((_depth(child, (*path, node[0]), depths) for child in inner), default=0)
        depths[node] = 0 if definition is None else 1 + below
    return depths[node]


def _definition_of(node: Node) -> JsonObject | None:
    tool_id, pinned = node
    versions = ToolVersion.objects.filter(tool__kind=ToolKind.SEQUENCE, tool__deleted_at=None)
    try:
        versions = versions.filter(tool=UUID(tool_id))
    except ValueError:
        return None
    version = (versions.filter(number=pinned) if pinned else versions.order_by("-number")).first()
    return version.snapshot["definition"] if version else None
