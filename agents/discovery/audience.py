"""Who asks what there is, and which tools come into question for them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import QuerySet

from agents.access import granted_to, linked_toolset
from agents.approvals import Settings, settings_of
from agents.bearer import Bearer
from agents.discovery.entries import Entry, entry_of, told_of
from agents.models import Agent, Arm
from agents.models.agent_tool import Approval
from agents.models.experiment import ExperimentState
from agents.selectors import agent_visible_to
from config.lib.errors import NotAllowed, NotFound
from registry.approval import Effect
from registry.deprecated import retired
from registry.loading import load_specs
from registry.models import Tool
from registry.models.tool import ToolKind
from registry.selectors import tools_public, tools_usable_by

READ = "tools:read"


@dataclass(frozen=True, kw_only=True)
class Audience:
    """Whose list it is.

    `tools` are told unless a scope is missing (`scopes` of None: none is) or `settings` deny them.
    `linked` are told besides as an agent knows them.
    """

    tools: QuerySet[Tool]
    scopes: frozenset[str] | None = None
    linked: tuple[Entry, ...] = ()
    settings: Settings | None = field(default=None, repr=False)

    def denied(self, ids: Collection[UUID]) -> frozenset[UUID]:
        """Return which of these tools the agent's rules deny."""
        settings = self.settings
        if settings is None or not settings.has_denials:
            return frozenset()
        specs = load_specs(Tool.objects.filter(pk__in=ids).select_related("successor"))
        return frozenset(
            spec.tool_id for spec in specs if settings.verdict(spec).effect == Effect.DENY
        )


def everybody() -> Audience:
    """Return the audience of the public list."""
    return Audience(tools=_findable(tools_public()))


def audience_of(user: User, bearer: Bearer | None) -> Audience:
    """Return who a person, or a program with a token, is; an agent's own token is that agent.

    A token without `tools:read` is told of public tools only.
    """
    reads = bearer is None or bearer.may(READ)
    tools = tools_usable_by(user) if reads else tools_public()
    agent = _own_agent(bearer)
    if agent is None:
        return Audience(tools=_findable(tools), scopes=bearer.scopes if bearer else None)
    settings = settings_of(agent.pk)
    links = settings.links if settings else {}
    named = [id_ for id_, link in links.items() if link.name or link.description or link.pinned]
    denied = [id_ for id_, link in links.items() if link.approval == Approval.DENY]
    seen = frozenset(tools.filter(pk__in=named).values_list("pk", flat=True))
    return Audience(
        tools=_findable(tools).exclude(pk__in=[*named, *denied]),
        scopes=granted_to(agent)(bearer.scopes if bearer else None),
        linked=tuple(e for e in _entries(agent, user) if e.id in seen),
        settings=settings,
    )


def toolset_audience(user: User, bearer: Bearer | None, *, slug: str, arm: str = "") -> Audience:
    """Return the audience of the toolset of an agent that a person may talk to.

    `arm` is the letter of a toolset of its running experiment. Raises NotFound, and NotAllowed for
    the token of another agent.
    """
    own = _own_agent(bearer)
    if own is not None and own.slug != slug:
        raise NotAllowed(
            f"This token is the agent “{own.slug}” and not “{slug}”.",
            "Ask for the toolset of its own agent, or use a token of that one.",
        )
    if bearer is not None and not bearer.may(READ):
        raise NotAllowed(
            f"This token lacks the scope “{READ}”.", "Ask for a token with this scope."
        )
    agent = agent_visible_to(user, slug)
    return Audience(
        tools=Tool.objects.none(),
        scopes=granted_to(agent)(bearer.scopes if bearer else None),
        linked=tuple(_entries(agent, user, arm=_arm(agent, arm) if arm else None, named=True)),
    )


def agent_of(user: User, bearer: Bearer | None, slug: str) -> str:
    """Return the slug of the agent that a call is made as; empty for a person's own call."""
    own = _own_agent(bearer)
    if own is None:
        return slug
    if slug and slug != own.slug:
        raise NotAllowed(
            f"This token is the agent “{own.slug}” and not “{slug}”.", "Leave `agent` out."
        )
    return own.slug


def _own_agent(bearer: Bearer | None) -> Agent | None:
    if bearer is None or bearer.agent_id is None:
        return None
    agent = Agent.objects.filter(pk=bearer.agent_id).first()
    if agent is None:
        raise NotFound("The agent of this token is gone.", "Make a client for another agent.")
    return agent


def _findable(tools: QuerySet[Tool]) -> QuerySet[Tool]:
    """Leave out what is found no more, and the tool that only settings of an agent switch on."""
    return tools.exclude(kind=ToolKind.CODE).exclude(retired()).select_related(None)


def _entries(
    agent: Agent, user: User, *, arm: Arm | None = None, named: bool = False
) -> list[Entry]:
    """Return the tools that an agent carries, as it knows them."""
    toolset = linked_toolset(agent, user, arm)
    facts = _facts([spec.tool_id for spec in toolset.values()])
    return [
        entry_of(
            told_of(spec, health=facts[spec.tool_id].state, scopes=facts[spec.tool_id].scopes),
            agent=agent.slug if named else "",
        )
        for spec in toolset.values()
        if spec.tool_id in facts
    ]


@dataclass(frozen=True, kw_only=True)
class _Fact:
    state: str
    scopes: list[str]


def _facts(ids: list[UUID]) -> Mapping[UUID, _Fact]:
    tools = Tool.objects.filter(pk__in=ids).only(
        "required_scopes", "import_health", "execution_health"
    )
    return {tool.pk: _Fact(state=tool.health_state, scopes=tool.required_scopes) for tool in tools}


def _arm(agent: Agent, letter: str) -> Arm:
    arms = Arm.objects.filter(
        experiment__agent=agent, experiment__state=ExperimentState.RUNNING, letter=letter
    )
    found = arms.first()
    if found is None:
        raise NotFound(
            f"No experiment of {agent.name} runs with a toolset “{letter[:20]}”.",
            "Toolsets of a running experiment are A and B.",
        )
    return found
