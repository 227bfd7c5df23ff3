"""Which sequences and runs a person sees."""

from collections.abc import Iterable
from uuid import UUID

from django.contrib.auth.models import User
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Exists, F, Func, IntegerField, OuterRef, QuerySet, Subquery

from config.lib.errors import DomainError, NotFound
from config.lib.ids import uuids_in
from config.lib.paging import MOST_COUNTED
from config.lib.types import JsonSchema
from registry.errors import ToolUnavailable
from registry.loading import load_spec
from registry.models import Proposal, Tool
from registry.models.proposal import ProposalState
from registry.models.tool import ToolKind
from registry.pins import pinned_spec
from registry.selectors import tool_owned_by, tool_visible_to, tools_usable_by, tools_visible_to
from registry.specs import ToolSpec
from sequences.definition import Definition, DefinitionInvalid, parse
from sequences.flow import output_schema_of
from sequences.models import Run, RunArtifact, RunRequest, RunStep, SampleInput, SequenceDraft
from sequences.shapes import ToolShape


def sequences_visible_to(user: User) -> QuerySet[Tool]:
    """Return a person's own sequences, those of their teams and the approved public ones.

    Each has `run_count`, `last_run_at` and `last_run_status` of this person's own runs; they are
    counted no further than one more than `MOST_COUNTED`. `draft_waits` tells whether a change of
    theirs waits for review while others keep what they have, `has_unpublished` of changes in the
    builder that were not published yet.
    """
    own = Run.objects.filter(tool=OuterRef("pk"), user=user, parent_step=None)
    last = own.order_by("-created_at", "pk")
    counted = ArraySubquery(own.values("pk")[: MOST_COUNTED + 1])
    drafts = Proposal.objects.filter(
        tool=OuterRef("pk"), tool__owner=user, state=ProposalState.OPEN
    )
    unpublished = SequenceDraft.objects.filter(tool=OuterRef("pk"), tool__owner=user).exclude(
        position=F("published_position")
    )
    return (
        tools_visible_to(user)
        .filter(kind=ToolKind.SEQUENCE)
        .annotate(
            run_count=Func(counted, function="cardinality", output_field=IntegerField()),
            last_run_at=Subquery(last.values("created_at")[:1]),
            last_run_status=Subquery(last.values("status")[:1]),
            draft_waits=Exists(drafts),
            has_unpublished=Exists(unpublished),
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
    return Run.objects.filter(user=user).select_related("tool", "tool_version", "draft")


def run_of(user: User, run_id: UUID, *, agent: UUID | None = None) -> Run:
    """Return one of a person's runs, with `agent` one that it began, or raise NotFound."""
    runs = runs_of(user) if agent is None else runs_of(user).filter(agent=agent)
    run = runs.select_related("agent", "parent_step").filter(pk=run_id).first()
    if run is None:
        raise NotFound("There is no such run among yours.", "See your runs.")
    return run


def samples_of(user: User, tool: Tool) -> QuerySet[SampleInput]:
    """Return the inputs that a person saved in their own draft of a sequence, by name."""
    return SampleInput.objects.filter(draft__tool=tool, draft__owner=user).order_by("name", "pk")


def step_of(run: Run, step_id: UUID) -> RunStep:
    """Return one step of a run, or one iteration of a loop, or raise NotFound."""
    step = run.steps.select_related("tool").filter(pk=step_id).first()
    if step is None:
        raise NotFound("This run has no such step.", "See the steps of the run.")
    return step


def artifact_of(run: Run, artifact_id: UUID) -> RunArtifact:
    """Return one file that a step of a run made, or raise NotFound."""
    artifact = run.artifacts.filter(pk=artifact_id).first()
    if artifact is None:
        raise NotFound("This run has no such file.", "See the files of the run.")
    return artifact


def request_of(run: Run, request_id: UUID) -> RunRequest:
    """Return one question of a run, or raise NotFound."""
    request = run.requests.select_related("step").filter(pk=request_id).first()
    if request is None:
        raise NotFound("This run has asked no such question.", "See the page of the run.")
    return request


def tool_shapes(user: User, definition: Definition) -> dict[str, ToolShape]:
    """Return what a check of the definition has to know of the tools that its steps name.

    A tool that does not exist or that the person may not use is not in it.
    """
    pins: dict[str, set[int]] = {}
    for step in definition.steps:
        pinned = pins.setdefault(step.tool, set())
        pinned |= {step.tool_version} if step.tool_version else set()
    shapes: dict[str, ToolShape] = {}
    for tool in tools_usable_by(user).filter(pk__in=uuids_in(pins)):
        try:
            shapes[str(tool.pk)] = _shape(tool, sorted(pins[str(tool.pk)]), user)
        except ToolUnavailable:
            continue
    return shapes


def _shape(tool: Tool, numbers: Iterable[int], user: User) -> ToolShape:
    pinned, refused = {}, {}
    for number in numbers:
        try:
            pinned[number] = pinned_spec(tool, number, user=user)
        except DomainError as error:
            refused[number] = f"{error.message} {error.hint}"
    spec = load_spec(tool)
    return ToolShape(
        name=tool.wire_name,
        input_schema=spec.input_schema,
        pinned={number: then.input_schema for number, then in pinned.items()},
        refused=refused,
        output_schema=_output_schema(spec),
        pinned_outputs={number: _output_schema(then) for number, then in pinned.items()},
    )


def _output_schema(spec: ToolSpec) -> JsonSchema | None:
    """Return what is known of a tool's output; of a sequence what its definition says."""
    if spec.kind != ToolKind.SEQUENCE:
        return spec.output_schema
    try:
        return output_schema_of(parse(spec.definition))
    except DefinitionInvalid:  # of a format that this version does not run
        return None
