"""Find the sequences that call tools, by an index over the steps of every definition."""

from collections.abc import Collection
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from agents.models import AgentTool
from config.lib.types import JsonObject, JsonSchema
from registry.impact.parts import MOST_LISTED
from registry.models import Proposal, Tool, ToolVersion
from registry.models.proposal import ProposalState
from registry.models.tool import CALLED_TOOLS, ToolKind
from registry.models.tool_version import CALLED_THEN
from sequences.definition import Definition, DefinitionInvalid, parse
from sequences.nesting import MAX_DEPTH

MOST_OLD = 500
"""Earlier versions that are looked at for whether something still calls them."""

Key = tuple[UUID, int]
"""A sequence and the number of a version."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """A sequence at one version; `state` is live, staged or pinned."""

    tool: Tool
    number: int
    state: str
    definition: Definition
    input_schema: JsonSchema


@dataclass
class Callers:
    """Sequences by version; `live` has the number of the live version of each."""

    nodes: dict[Key, Node] = field(default_factory=dict)
    live: dict[UUID, int] = field(default_factory=dict)
    more: bool = False


def callers_of(tool_ids: Collection[UUID]) -> Callers:
    """Return the sequences that call these tools, and those that call the sequences.

    Besides the live versions, those that wait for review and earlier ones that an agent or another
    sequence pins. What is returned may call by a pin that leads elsewhere: that is for the reader
    to see. Two queries for each level of nesting, and one.
    """
    callers = Callers()
    old: dict[Key, bool] = {}
    frontier = set(tool_ids)
    seen = set(frontier)
    for _ in range(MAX_DEPTH):
        if not frontier:
            break
        found = _live(frontier)
        earlier = _earlier(frontier)
        callers.more = callers.more or len(found) > MOST_LISTED or len(earlier) > MOST_OLD
        for tool in found[:MOST_LISTED]:
            _add(callers, tool, tool.version, "live", tool.definition, tool.input_schema)
        old |= {(tool_id, number): wanted for tool_id, number, wanted in earlier[:MOST_OLD]}
        reached = {tool.pk for tool in found[:MOST_LISTED]} | {tool_id for tool_id, _ in old}
        frontier = reached - seen
        seen |= reached
        if len(callers.nodes) > MOST_LISTED:
            callers.more = callers.more or bool(frontier)
            break
    _add_earlier(callers, old)
    return callers


def _live(tool_ids: Collection[UUID]) -> list[Tool]:
    sequences = live_callers(tool_ids).select_related("owner").order_by("pk")
    return list(sequences[: MOST_LISTED + 1])


def live_callers(tool_ids: Collection[UUID]) -> QuerySet[Tool]:
    """Return the living sequences with a step that names one of the tools."""
    return (
        Tool.objects.filter(kind=ToolKind.SEQUENCE, deleted_at=None)
        .annotate(called=CALLED_TOOLS)
        .filter(called__has_any_keys=_texts(tool_ids))
    )


def earlier_callers(tool_ids: Collection[UUID]) -> QuerySet[ToolVersion]:
    """Return the versions, other than the live ones, with a step that names one of the tools."""
    return (
        ToolVersion.objects.filter(snapshot__kind=ToolKind.SEQUENCE.value)
        .annotate(called=CALLED_THEN)
        .filter(called__has_any_keys=_texts(tool_ids), tool__deleted_at=None)
        .exclude(number=F("tool__version"))
    )


def _earlier(tool_ids: Collection[UUID]) -> list[tuple[UUID, int, bool]]:
    """Return (tool, number, whether an agent pins it or it waits for review), newest first."""
    pinned = AgentTool.objects.filter(tool=OuterRef("tool"), pinned_version=OuterRef("number"))
    staged = Proposal.objects.filter(tool=OuterRef("tool"), state=ProposalState.OPEN)
    wanted = Exists(pinned) | (Q(number__gt=F("tool__version")) & Exists(staged))
    versions = (
        earlier_callers(tool_ids).annotate(wanted=wanted).order_by("-wanted", "-number", "pk")
    )
    return list(versions.values_list("tool_id", "number", "wanted")[: MOST_OLD + 1])


def _add_earlier(callers: Callers, old: dict[Key, bool]) -> None:
    """Add the earlier versions that something still leads to."""
    by_steps = {
        (step.tool, step.tool_version)
        for node in callers.nodes.values()
        for step in node.definition.steps
        if step.tool_version
    }
    keys = [key for key, wanted in old.items() if wanted or (str(key[0]), key[1]) in by_steps]
    if not keys:
        return
    versions = ToolVersion.objects.filter(
        tool_id__in={tool_id for tool_id, _ in keys}, number__in={number for _, number in keys}
    ).select_related("tool__owner")
    for version in versions:
        if (version.tool_id, version.number) in keys:
            state = "staged" if version.number > version.tool.version else "pinned"
            snapshot = version.snapshot
            definition, schema = snapshot["definition"], snapshot["input_schema"]
            _add(callers, version.tool, version.number, state, definition, schema)


def _add(
    callers: Callers,
    tool: Tool,
    number: int,
    state: str,
    definition: JsonObject | None,
    input_schema: JsonSchema,
) -> None:
    callers.live[tool.pk] = tool.version
    try:
        parsed = parse(definition)
    except DefinitionInvalid:  # of a format that this version does not run
        return
    callers.nodes[tool.pk, number] = Node(
        tool=tool, number=number, state=state, definition=parsed, input_schema=input_schema
    )


def _texts(tool_ids: Collection[UUID]) -> list[str]:
    return sorted(str(tool_id) for tool_id in tool_ids)
