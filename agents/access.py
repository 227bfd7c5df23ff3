"""What an agent may call, and under which circumstances."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from threading import Event
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from agents.approvals import Settings, policy_of, settings_of
from agents.credentials import env_of
from agents.models import Agent, AgentTool, Arm, ArmTool
from agents.models.agent_tool import Approval
from agents.selectors import agent_visible_to
from config.lib.types import JsonObject
from registry.approval import Effect
from registry.context import CallContext, Granted
from registry.loading import load_spec, load_specs
from registry.models import Tool
from registry.models.invocation import Caller
from registry.models.tool import ToolKind
from registry.selectors import tools_usable_by
from registry.specs import ToolSpec
from registry.toolset import Toolset


def linked_tools(agent: Agent, user: User, arm: Arm | None = None) -> QuerySet[Tool]:
    """Return the carried tools that this person may use and the agent does not deny.

    They are the agent's linked ones or, in a conversation of an experiment, those of its `arm`.
    """
    links = AgentTool.objects.filter(agent=agent)
    if arm is None:
        carried = Q(pk__in=links.exclude(approval=Approval.DENY).values("tool"))
    else:
        denied = links.filter(approval=Approval.DENY).values("tool")
        carried = Q(pk__in=ArmTool.objects.filter(arm=arm).values("tool")) & ~Q(pk__in=denied)
    tools = tools_usable_by(user).filter(carried)
    return tools.exclude(kind=ToolKind.CODE).order_by("wire_name", "pk")


def pins_of(agent: Agent, arm: Arm | None = None) -> dict[UUID, int | None]:
    """Return the version that each link pins, of the agent's links or those of an arm."""
    rows = ArmTool.objects.filter(arm=arm) if arm else AgentTool.objects.filter(agent=agent)
    return dict(rows.values_list("tool_id", "pinned_version"))


def linked_toolset(agent: Agent, user: User, arm: Arm | None = None) -> Toolset:
    """Return the specs of the carried tools as they are linked, each at the version its link pins.

    What a rule denies is left out. Raises NameClash when two of them have one name.
    """
    return toolset_of(agent, user, arm, settings_of(agent.pk))


def toolset_of(agent: Agent, user: User, arm: Arm | None, settings: Settings | None) -> Toolset:
    """Return what `linked_toolset` does, where the agent's settings have been read in full."""
    if settings is None or (arm is None and not settings.links):
        return Toolset()
    specs = load_specs(linked_tools(agent, user, arm), pins_in(settings, arm))
    named = as_linked(settings)
    return Toolset(named(spec) for spec in specs if not _denies(settings, spec))


def linked_named(agent: Agent, user: User, name: str) -> ToolSpec | None:
    """Return what `linked_toolset` has under a name, without reading the others.

    Raises NameClash when two of them have it.
    """
    named = Q(name_override=name) | Q(name_override="", tool__wire_name=name)
    links = AgentTool.objects.filter(named, agent=agent)
    ids = list(links.exclude(approval=Approval.DENY).values_list("tool_id", flat=True))
    settings = settings_of(agent.pk, ids) if ids else None
    if settings is None:
        return None
    specs = load_specs(linked_tools(agent, user).filter(pk__in=ids), pins_in(settings, None))
    called = as_linked(settings)
    return Toolset(called(spec) for spec in specs if not _denies(settings, spec)).get(name)


def pins_in(settings: Settings, arm: Arm | None) -> dict[UUID, int | None]:
    """Return what `pins_of` does, where the agent's settings have been read in full."""
    if arm is not None:
        return dict(ArmTool.objects.filter(arm=arm).values_list("tool_id", "pinned_version"))
    return {tool_id: link.pinned for tool_id, link in settings.links.items()}


def as_linked(settings: Settings) -> Callable[[ToolSpec], ToolSpec]:
    """Return what gives a tool the name and description of its link, where that has its own."""

    def named(spec: ToolSpec) -> ToolSpec:
        link = settings.links.get(spec.tool_id)
        if link is None or not (link.name or link.description):
            return spec
        return replace(
            spec,
            wire_name=link.name or spec.wire_name,
            known_as=spec.own_name,
            description=link.description or spec.description,
        )

    return named


def denied_by(agent: Agent) -> Callable[[UUID], bool]:
    """Return the predicate that says which tools the agent's settings deny, read at each call."""

    def denied(tool_id: UUID) -> bool:
        settings = settings_of(agent.pk, [tool_id])
        if settings is None or settings.denies_link(tool_id):
            return True
        if not settings.has_denials:
            return False
        tool = Tool.objects.filter(pk=tool_id, deleted_at=None).first()
        return tool is not None and _denies(settings, load_spec(tool))

    return denied


def _denies(settings: Settings | None, spec: ToolSpec) -> bool:
    return settings is None or settings.verdict(spec).effect == Effect.DENY


def granted_to(agent: Agent) -> Granted:
    """Return what tells the scopes that an agent has now.

    Calls with all scopes of the agent have those it has now; calls with fewer, as of a token that
    has not all of them, keep what of theirs is left.
    """
    then = frozenset(agent.scopes)

    def granted(scopes: frozenset[str] | None) -> frozenset[str]:
        rows = Agent.objects.filter(pk=agent.pk).values_list("scopes", flat=True)
        now = frozenset(rows.first() or ())
        return now if scopes in (None, then) else now & scopes

    return granted


def presets_of(agent: Agent) -> Callable[[UUID], JsonObject]:
    """Return the function that reads the arguments a link always sends."""

    def presets(tool_id: UUID) -> JsonObject:
        link = AgentTool.objects.filter(agent=agent, tool_id=tool_id).first()
        return link.config if link else {}

    return presets


def agent_context(
    agent: Agent,
    user: User,
    *,
    caller: Caller,
    cancel: Event | None = None,
    turn_id: UUID | None = None,
    arm: Arm | None = None,
) -> CallContext:
    """Return the circumstances of calls that this agent makes for this person."""
    return CallContext(
        user=user,
        caller=caller,
        tools=partial(linked_toolset, agent, user, arm),
        scopes=frozenset(agent.scopes),
        granted=granted_to(agent),
        env=env_of(user, agent),
        policy=policy_of(agent),
        denied=denied_by(agent),
        presets=presets_of(agent),
        cancel=cancel or Event(),
        agent_id=agent.pk,
        turn_id=turn_id,
    )


def context_for(user: User, slug: str, *, caller: Caller) -> CallContext:
    """Return the circumstances of calls as one of the agents that a person may talk to."""
    return agent_context(agent_visible_to(user, slug), user, caller=caller)
