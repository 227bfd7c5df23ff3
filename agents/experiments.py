"""Experiments: which of two toolsets serves an agent's conversations better.

The owner says what is compared, starts it, and ends it. While it runs each new conversation is
given one of the toolsets by lot and keeps it; conversations that began before are left alone.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

import pgtrigger
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from agents.access import pins_of
from agents.models import Agent, AgentTool, Arm, ArmTool, Experiment
from agents.models.agent import DiscoveryMode
from agents.models.agent_tool import Approval
from agents.models.experiment import FIXED_TOOLS, ExperimentState, Letter
from agents.selectors import agents_visible_to
from config.lib.changes import decided
from config.lib.errors import Conflict, InvalidInput, NotFound
from config.lib.jsontext import clean_text
from registry.loading import load_specs
from registry.models import Tool
from registry.models.tool import ToolKind
from registry.pins import pinned_spec
from registry.selectors import tools_usable_by

LONGEST_NAME = 120
FEWEST_PLANNED, MOST_PLANNED = 10, 100_000
SMALLEST_SHARE, LARGEST_SHARE = 1, 99


@dataclass(frozen=True, kw_only=True)
class ToolsetPlan:
    """What one arm is to carry: tool id → pinned version or None; `discovery_mode` as agents."""

    tools: Mapping[UUID, int | None]
    discovery_mode: str


def present_toolset(agent: Agent) -> ToolsetPlan:
    """Return the toolset that the agent has now: what an experiment compares with.

    A linked tool that it is not given, because it is stopped, refused or gone, is no part of it.
    """
    allowed = AgentTool.objects.filter(agent=agent).exclude(approval=Approval.DENY)
    linked = list(allowed.values_list("tool_id", flat=True))
    carried = set(_usable(agent).filter(pk__in=linked).values_list("pk", flat=True))
    pins = {tool: pin for tool, pin in pins_of(agent).items() if tool in carried}
    return ToolsetPlan(tools=pins, discovery_mode=agent.discovery_mode)


def experiments_of(agent: Agent) -> QuerySet[Experiment]:
    """Return an agent's experiments, newest first."""
    return Experiment.objects.filter(agent=agent).order_by("-created_at", "pk")


def experiment_visible_to(user: User, slug: str, experiment_id: UUID) -> Experiment:
    """Return one experiment with an agent that a person may see, or raise NotFound."""
    experiment = (
        Experiment.objects.filter(
            pk=experiment_id, agent__slug=slug, agent__in=agents_visible_to(user)
        )
        .select_related("agent__owner", "created_by")
        .prefetch_related("arms__links__tool")
        .first()
    )
    if experiment is None:
        raise NotFound("There is no such experiment, or you may not see it.", "See the agent.")
    return experiment


def experiment_owned_by(user: User, slug: str, experiment_id: UUID) -> Experiment:
    """Return one experiment with a person's own agent, or raise NotFound."""
    experiment = experiment_visible_to(user, slug, experiment_id)
    if experiment.agent.owner_id != user.pk:
        raise NotFound(
            "There is no such experiment with an agent of yours.",
            "Only the owner of an agent experiments with it.",
        )
    return experiment


@transaction.atomic
def experiment_create(
    agent: Agent,
    *,
    by: User,
    name: str,
    a: ToolsetPlan,
    b: ToolsetPlan,
    share_b: int = 50,
    planned: int = 50,
) -> Experiment:
    """Draw up an experiment; nothing happens until it is started.

    Raises InvalidInput with a problem for each wrong field, and when both toolsets are the same.
    """
    name = " ".join(clean_text(name).split())
    _check(name, share_b, planned)
    if a == b:
        raise InvalidInput(
            "Both toolsets are the same, so there is nothing to compare.",
            "Add a tool to B, take one away, or let only one of them find tools.",
            problems=[{"path": "b", "message": "is the same as A"}],
        )
    with decided(by, "Experiment drawn up"):
        experiment = Experiment.objects.create(
            agent=agent, name=name, share_b=share_b, planned=planned, created_by=by
        )
        for letter, plan in ((Letter.A, a), (Letter.B, b)):
            _write_arm(experiment, letter, plan)
    return experiment


@transaction.atomic
def experiment_start(experiment: Experiment, *, by: User | None = None) -> None:
    """Let the lot decide on new conversations from now on; raise Conflict where it cannot."""
    locked = Experiment.objects.select_for_update().get(pk=experiment.pk)
    if not locked.is_draft:
        raise Conflict("The experiment has been started already.", "Draw up another one.")
    locked.state, locked.started_at = ExperimentState.RUNNING, timezone.now()
    try:
        with transaction.atomic(), decided(by, "Experiment started"):
            locked.save(update_fields=["state", "started_at"])
    except IntegrityError:
        raise Conflict(
            f"Another experiment runs with {locked.agent.name}.", "End that one first."
        ) from None


@transaction.atomic
def experiment_end(experiment: Experiment, *, by: User | None = None) -> None:
    """End a running experiment; its conversations go on with the agent's own tools."""
    locked = Experiment.objects.select_for_update().get(pk=experiment.pk)
    if not locked.is_running:
        raise Conflict("The experiment does not run.", "Only one that runs can be ended.")
    locked.state, locked.ended_at = ExperimentState.ENDED, timezone.now()
    with decided(by, "Experiment ended"):
        locked.save(update_fields=["state", "ended_at"])


@transaction.atomic
def experiment_delete(experiment: Experiment, *, by: User | None = None) -> None:
    """Delete an experiment that does not run; the conversations stay."""
    locked = Experiment.objects.select_for_update().get(pk=experiment.pk)
    if locked.is_running:
        raise Conflict("The experiment runs.", "End it first.")
    with pgtrigger.ignore(FIXED_TOOLS), decided(by, "Experiment deleted"):
        locked.delete()


def arm_drawn(agent: Agent, conversation_id: UUID) -> Arm | None:
    """Return the toolset that a new conversation gets by lot; None while no experiment runs.

    The lot is the hash of both ids: even, independent of the person, and the same at every try.
    """
    arms = Arm.objects.filter(
        experiment__agent=agent, experiment__state=ExperimentState.RUNNING
    ).select_related("experiment")
    by_letter = {arm.letter: arm for arm in arms}
    if not by_letter:
        return None
    experiment = by_letter[Letter.A].experiment
    lot = hashlib.blake2b(experiment.pk.bytes + conversation_id.bytes, digest_size=8).digest()
    percentile = int.from_bytes(lot) * 100 >> 64
    return by_letter[Letter.B if percentile < experiment.share_b else Letter.A]


def arm_in_force(arm_id: int | None) -> Arm | None:
    """Return a conversation's toolset while its experiment runs, else None."""
    if arm_id is None:
        return None
    return Arm.objects.filter(pk=arm_id, experiment__state=ExperimentState.RUNNING).first()


def _write_arm(experiment: Experiment, letter: Letter, plan: ToolsetPlan) -> None:
    _require_usable(experiment.agent, letter, plan)
    arm = Arm.objects.create(
        experiment=experiment, letter=letter, discovery_mode=plan.discovery_mode
    )
    ArmTool.objects.bulk_create(
        ArmTool(arm=arm, tool_id=tool_id, pinned_version=pin) for tool_id, pin in plan.tools.items()
    )


def _usable(agent: Agent) -> QuerySet[Tool]:
    return tools_usable_by(agent.owner).exclude(kind=ToolKind.CODE)


def _require_usable(agent: Agent, letter: Letter, plan: ToolsetPlan) -> None:
    if plan.discovery_mode not in DiscoveryMode.values:
        raise _invalid(letter.lower(), f"Choose one of {', '.join(DiscoveryMode.values)}.")
    tools = list(_usable(agent).filter(pk__in=plan.tools))
    if len(tools) < len(plan.tools):
        raise _invalid(
            letter.lower(), f"Toolset {letter} names a tool that does not exist or is not yours."
        )
    load_specs(tools, plan.tools)
    for tool in tools:
        if pin := plan.tools[tool.pk]:
            pinned_spec(tool, pin, user=agent.owner)


def _check(name: str, share_b: int, planned: int) -> None:
    problems = list(_problems(name, share_b, planned))
    if problems:
        raise InvalidInput(
            "The experiment is not valid.",
            "Correct the named fields.",
            problems=[{"path": path, "message": message} for path, message in problems],
        )


def _problems(name: str, share_b: int, planned: int) -> Iterable[tuple[str, str]]:
    if not name:
        yield "name", "Give the experiment a name."
    elif len(name) > LONGEST_NAME:
        yield "name", f"The name has {len(name)} characters; at most {LONGEST_NAME} fit."
    if not SMALLEST_SHARE <= share_b <= LARGEST_SHARE:
        yield "share_b", "Between 1 and 99 percent of the conversations can get toolset B."
    if not FEWEST_PLANNED <= planned <= MOST_PLANNED:
        yield "planned", f"Plan {FEWEST_PLANNED} to {MOST_PLANNED:,} conversations in each arm."


def _invalid(path: str, message: str) -> InvalidInput:
    return InvalidInput(
        message, "Correct the named field.", problems=[{"path": path, "message": message}]
    )
