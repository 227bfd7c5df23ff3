"""Which agents, credentials and tokens a person sees."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Count, Q, QuerySet

from agents.models import Agent, AgentTool, ApiToken, Credential
from agents.models.agent import AgentVisibility
from config.lib.errors import NotFound
from config.lib.jsontext import clean_text
from registry.deprecated import retired
from registry.models import Tool
from registry.models.tool import ToolKind
from registry.selectors import tools_named, tools_usable_by

MOST_OFFERED = 50
"""Tools that are offered beside those that are ticked; more are found by their names."""

_HEAVY = ("input_schema", "output_schema", "definition", "ai_agent", "package__manifest")


def agents_visible_to(user: User) -> QuerySet[Agent]:
    """Return a person's own agents and those a team shares with them."""
    return Agent.objects.filter(
        Q(owner=user) | Q(visibility=AgentVisibility.TEAM, team__in=user.groups.values("pk"))
    ).select_related("owner", "team")


def agents_owned_by(user: User) -> QuerySet[Agent]:
    """Return a person's own agents."""
    return Agent.objects.filter(owner=user).order_by("name", "pk")


def agent_visible_to(user: User, slug: str) -> Agent:
    """Return one agent that a person may talk to, or raise NotFound."""
    agent = agents_visible_to(user).filter(slug=clean_text(slug)).first()
    if agent is None:
        raise NotFound(f"There is no agent “{slug}”, or you may not see it.", "See your agents.")
    return agent


def agent_owned_by(user: User, slug: str) -> Agent:
    """Return one of a person's own agents, or raise NotFound."""
    agent = (
        Agent.objects.filter(owner=user, slug=clean_text(slug))
        .select_related("owner", "team")
        .first()
    )
    if agent is None:
        raise NotFound(
            f"There is no agent “{slug}” among yours.", "Only its owner may change an agent."
        )
    return agent


def links_of(agent: Agent) -> QuerySet[AgentTool]:
    """Return the links of an agent with their tools."""
    return (
        AgentTool.objects.filter(agent=agent, tool__deleted_at=None)
        .select_related("tool__package", "tool__successor", "agent")
        .order_by("tool__wire_name", "pk")
    )


def link_of(agent: Agent, tool_id: UUID) -> AgentTool:
    """Return the link of an agent to a living tool, or raise NotFound."""
    link = links_of(agent).select_related("agent__owner").filter(tool_id=tool_id).first()
    if link is None:
        raise NotFound(f"{agent.name} has no such tool.", "Link it first.")
    return link


def links_lost(agent: Agent) -> QuerySet[AgentTool]:
    """Return the links whose tool was deleted; nobody can call it, whatever they pin."""
    return (
        AgentTool.objects.filter(agent=agent, tool__deleted_at__isnull=False)
        .select_related("tool__successor")
        .order_by("tool__wire_name", "pk")
    )


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A tool that an agent could carry, whether it does, and whether it is ticked in the form."""

    tool: Tool
    linked: bool
    ticked: bool


@dataclass(frozen=True, kw_only=True)
class Choices:
    """The tools to choose from: those that are linked or ticked, then others.

    `words` is what was searched for; without it the others come by their wire names. `more` tells
    that not all of them are here.
    """

    rows: list[Choice]
    words: str
    more: bool


def tool_choices(agent: Agent, words: str = "", kept: Collection[UUID] | None = None) -> Choices:
    """Return what the owner may use of the linked tools and of `kept`, those ticked in a form
    that is not saved yet, and at most `MOST_OFFERED` others that are named so."""
    linked = set(AgentTool.objects.filter(agent=agent).values_list("tool_id", flat=True))
    ticked = linked if kept is None else set(kept)
    usable = tools_usable_by(agent.owner).exclude(kind=ToolKind.CODE).defer(*_HEAVY)
    here = usable.filter(pk__in=linked | ticked).exclude(retired() & ~Q(pk__in=linked))
    others = usable.exclude(retired()).exclude(pk__in=linked | ticked)
    if words:
        others, called = tools_named(others, words)
        others = others.filter(called)
    found = list(others.order_by("wire_name", "pk")[: MOST_OFFERED + 1])
    tools = [*here.order_by("wire_name", "pk"), *found[:MOST_OFFERED]]
    return Choices(
        rows=[
            Choice(tool=tool, linked=tool.pk in linked, ticked=tool.pk in ticked) for tool in tools
        ],
        words=words,
        more=len(found) > MOST_OFFERED,
    )


def agents_using(user: User, tool_id: UUID) -> QuerySet[Agent]:
    """Return the visible agents that carry a tool."""
    return agents_visible_to(user).filter(links__tool_id=tool_id).order_by("name", "pk")


def agents_by_tool(tool_ids: Collection[UUID]) -> dict[UUID, int]:
    """Return how many agents carry each of these tools; those that none carries are left out."""
    links = AgentTool.objects.filter(tool_id__in=tool_ids).values("tool_id").order_by()
    return dict(links.annotate(agents=Count("agent_id")).values_list("tool_id", "agents"))


def credentials_of(user: User) -> QuerySet[Credential]:
    """Return a person's credentials, without their values."""
    return (
        Credential.objects.filter(owner=user)
        .defer("ciphertext")
        .select_related("agent")
        .order_by("name", "pk")
    )


def credential_owned_by(user: User, credential_id: UUID) -> Credential:
    """Return one of a person's credentials, or raise NotFound."""
    credential = credentials_of(user).filter(pk=credential_id).first()
    if credential is None:
        raise NotFound("You have no such credential.", "See your credentials.")
    return credential


def tokens_of(user: User) -> QuerySet[ApiToken]:
    """Return a person's API tokens."""
    return ApiToken.objects.filter(user=user).order_by("-created_at", "pk")


def token_owned_by(user: User, token_id: UUID) -> ApiToken:
    """Return one of a person's tokens, or raise NotFound."""
    token = tokens_of(user).filter(pk=token_id).first()
    if token is None:
        raise NotFound("You have no such token.", "See your API tokens.")
    return token
