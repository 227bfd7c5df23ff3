"""Which sequences and runs a person sees."""

from collections.abc import Iterable
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from config.lib.errors import DomainError, NotFound
from registry.errors import ToolUnavailable
from registry.loading import load_spec
from registry.models import Proposal, Tool
from registry.models.proposal import ProposalState
from registry.models.tool import ToolKind
from registry.pins import pinned_spec
from registry.selectors import tool_owned_by, tool_visible_to, tools_usable_by, tools_visible_to
from sequences.definition import Definition
from sequences.models import Run
from sequences.validation import ToolShape


def sequences_visible_to(user: User) -> QuerySet[Tool]:
    """Return a person's own sequences, those of their teams and the approved public ones.

    Each has `run_count`, `last_run_at` and `last_run_status` of this person's own runs, and
    `draft_waits`: whether a change of theirs waits for review while others keep what they have.
    """
    own = Run.objects.filter(tool=OuterRef("pk"), user=user, parent_step=None)
    last = own.order_by("-created_at", "pk")
    counted = own.order_by().values("tool").annotate(count=Count("pk")).values("count")
    drafts = Proposal.objects.filter(
        tool=OuterRef("pk"), tool__owner=user, state=ProposalState.OPEN
    )
    return (
        tools_visible_to(user)
        .filter(kind=ToolKind.SEQUENCE)
        .annotate(
            run_count=Coalesce(Subquery(counted), 0),
            last_run_at=Subquery(last.values("created_at")[:1]),
            last_run_status=Subquery(last.values("status")[:1]),
            draft_waits=Exists(drafts),
        )
    )


def sequence_visible_to(user: User, tool_id: UUID) -> Tool:
    """Return one visible sequence or raise NotFound."""
    return _sequence(tool_visible_to(user, tool_id))


def sequence_owned_by(user: User, tool_id: UUID) -> Tool:
    """Return one of a person's own sequences or raise NotFound."""
    return _sequence(tool_owned_by(user, tool_id))


def _sequence(tool: Tool) -> Tool:
    if tool.kind != ToolKind.SEQUENCE:
        raise NotFound("This tool is not a sequence.", "Look at it in the catalogue.")
    return tool


def runs_of(user: User) -> QuerySet[Run]:
    """Return a person's runs; a run shows inputs and outputs, so nobody else sees it."""
    return Run.objects.filter(user=user).select_related("tool", "tool_version")


def run_of(user: User, run_id: UUID) -> Run:
    """Return one of a person's runs or raise NotFound."""
    run = runs_of(user).select_related("agent", "parent_step").filter(pk=run_id).first()
    if run is None:
        raise NotFound("There is no such run among yours.", "See your runs.")
    return run


def tool_shapes(user: User, definition: Definition) -> dict[str, ToolShape]:
    """Return what a check of the definition has to know of the tools that its steps name.

    A tool that does not exist or that the person may not use is not in it.
    """
    pins: dict[str, set[int]] = {}
    for step in definition.steps:
        pinned = pins.setdefault(step.tool, set())
        pinned |= {step.tool_version} if step.tool_version else set()
    shapes: dict[str, ToolShape] = {}
    for tool in tools_usable_by(user).filter(pk__in=ids_of(pins)):
        try:
            shapes[str(tool.pk)] = _shape(tool, sorted(pins[str(tool.pk)]), user)
        except ToolUnavailable:
            continue
    return shapes


def _shape(tool: Tool, numbers: Iterable[int], user: User) -> ToolShape:
    pinned, refused = {}, {}
    for number in numbers:
        try:
            pinned[number] = pinned_spec(tool, number, user=user).input_schema
        except DomainError as error:
            refused[number] = f"{error.message} {error.hint}"
    schema = load_spec(tool).input_schema
    return ToolShape(name=tool.wire_name, input_schema=schema, pinned=pinned, refused=refused)


def ids_of(texts: Iterable[str]) -> list[UUID]:
    """Return the ids among texts; a definition may name a tool by anything."""
    ids = []
    for text in texts:
        try:
            ids.append(UUID(text))
        except ValueError:
            continue
    return ids
