"""Every change of agents, their tools and credentials."""

from collections.abc import Iterable
from typing import Any, Unpack
from uuid import UUID

import pgtrigger
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.text import slugify

from agents.agent_limits import checked_fallbacks, require_in_range
from agents.credentials import require_variable
from agents.link_settings import LinkSettings, link_saved
from agents.models import Agent, AgentTool, Credential
from agents.models.agent import AgentVisibility
from agents.models.experiment import FIXED_TOOLS
from agents.offering import agent_withdraw, offer_follow
from agents.signals import agent_ending
from config.lib.errors import InvalidInput, NotAllowed, NotFound
from config.lib.sealing import seal
from registry.deprecated import deprecation_notice, is_retired
from registry.models.tool import ToolKind
from registry.pins import pinned_spec
from registry.roles import teams_of
from registry.selectors import tools_usable_by

EDITABLE = frozenset(
    {
        "name",
        "description",
        "instructions",
        "model",
        "discovery_mode",
        "max_found_tools",
        "schema_budget",
        "max_steps",
        "approval_default",
        "fallback_models",
        "tool_protocol",
        "mcp_tools",
        "code_execution",
        "scopes",
        "team",
        "visibility",
    }
)
RESERVED_SLUGS = frozenset({"new", "connected", "credentials", "tokens", "using", "import"})
"""Slugs that are pages under `/agents/`."""


def agent_create(owner: User, **fields: Any) -> Agent:
    """Make an agent; its slug is made from its name and stays."""
    agent = Agent(owner=owner, slug=_free_slug(fields.get("name", "")))
    return agent_update(agent, **fields)


def agent_update(agent: Agent, **fields: Any) -> Agent:
    """Change an agent's own fields; raise InvalidInput with a problem for each bad one."""
    if unknown := sorted(fields.keys() - EDITABLE):
        raise InvalidInput(f"An agent has no field {', '.join(unknown)}.")
    for name, value in fields.items():
        setattr(agent, name, value)
    require_in_range(fields)
    if fields.keys() & {"model", "fallback_models"}:
        agent.fallback_models = checked_fallbacks(agent.model, agent.fallback_models)
    if agent.visibility != AgentVisibility.TEAM:
        agent.team = None
    elif agent.team is None or not teams_of(agent.owner).filter(pk=agent.team.pk).exists():
        raise InvalidInput(
            "To share an agent, choose one of your own teams.",
            "Keep it private, or ask an administrator to put you on a team.",
        )
    try:
        agent.full_clean()
    except ValidationError as error:
        raise InvalidInput(
            "The agent could not be saved.",
            "Correct the named fields.",
            problems=[
                {"path": name, "message": " ".join(messages)}
                for name, messages in error.message_dict.items()
            ],
        ) from None
    agent.save()
    offer_follow(agent)
    return agent


def agent_delete(agent: Agent) -> None:
    """Delete an agent with its links, experiments and conversations."""
    agent_withdraw(agent)
    with transaction.atomic(), pgtrigger.ignore(FIXED_TOOLS):
        agent_ending.send(sender=Agent, agent=agent)
        agent.delete()


@transaction.atomic
def tool_link(agent: Agent, tool_id: UUID, **settings: Unpack[LinkSettings]) -> AgentTool:
    """Link a tool that the agent's owner may use, or change of its link what is named.

    Raises NotFound, InvalidInput, ToolUnavailable, PinRefused and what `agents.link_settings` says.
    """
    Agent.objects.select_for_update().get(pk=agent.pk)  # two names at once would not see each other
    tool = tools_usable_by(agent.owner).filter(pk=tool_id).first()
    if tool is None:
        raise NotFound("There is no such tool, or you may not use it.", "Look in the catalogue.")
    if tool.kind == ToolKind.CODE:
        raise InvalidInput(
            f"{tool.wire_name} is not linked like other tools.",
            "Switch on “Let it run code” in the agent's settings.",
        )
    link = AgentTool.objects.filter(agent=agent, tool=tool).first()
    if link is None and is_retired(tool):
        raise InvalidInput(
            f"{tool.wire_name} is not linked any more. {deprecation_notice(tool)}",
            "Agents that have it keep it.",
        )
    return link_saved(link or AgentTool(agent=agent, tool=tool), settings)


def tool_pin(link: AgentTool, number: int | None) -> AgentTool:
    """Hold a link to a version of its tool, or with None let it follow the live one.

    Raises ToolUnavailable when there is no such version, PinRefused when it may not be pinned.
    """
    if number is not None:
        pinned_spec(link.tool, number, user=link.agent.owner)
    link.pinned_version = number
    link.save(update_fields=["pinned_version"])
    return link


def tool_unlink(agent: Agent, tool_id: UUID) -> None:
    """Take a tool away from an agent; do nothing when it is not linked."""
    AgentTool.objects.filter(agent=agent, tool_id=tool_id).delete()


@transaction.atomic
def scopes_grant(agent: Agent, tool_id: UUID) -> list[str]:
    """Grant an agent the scopes that one of its linked tools requires; return the new ones."""
    locked = Agent.objects.select_for_update().get(pk=agent.pk)
    link = AgentTool.objects.filter(agent=agent, tool_id=tool_id, tool__deleted_at=None)
    found = link.select_related("tool", "agent").first()
    if found is None:
        raise NotFound("This agent has no such tool.", "Link it first, then grant its scopes.")
    granted = found.missing_scopes
    locked.scopes = agent.scopes = sorted({*locked.scopes, *granted})
    locked.save(update_fields=["scopes", "updated_at"])
    offer_follow(locked)
    return granted


@transaction.atomic
def tools_set(agent: Agent, tool_ids: Iterable[UUID]) -> None:
    """Make these the linked tools; the settings of links that stay are kept."""
    wanted = set(tool_ids)
    links = AgentTool.objects.filter(agent=agent)
    present = set(links.values_list("tool_id", flat=True))
    # a linked tool that the owner cannot see any more is kept out of the form, not unlinked by it
    seen = set(
        tools_usable_by(agent.owner).filter(pk__in=present | wanted).values_list("pk", flat=True)
    )
    links.filter(tool_id__in=(present & seen) - wanted).delete()
    for tool_id in wanted - present:
        tool_link(agent, tool_id)


def credential_set(owner: User, *, name: str, value: str, agent: Agent | None = None) -> Credential:
    """Store a secret under an environment name, for all of a person's agents or for one."""
    name = name.strip()
    require_variable(name, value)
    if agent is not None and agent.owner_id != owner.pk:
        raise NotAllowed(
            "Only the owner of an agent stores values for it.",
            "Store the value for all your agents, or for the conversation.",
        )
    credential, _ = Credential.objects.update_or_create(
        owner=owner, agent=agent, name=name, defaults={"ciphertext": seal(value)}
    )
    return credential


def credential_delete(owner: User, credential_id: UUID) -> None:
    """Delete one of a person's credentials."""
    Credential.objects.filter(owner=owner, pk=credential_id).delete()


def _free_slug(name: str) -> str:
    base = slugify(name)[:50] or "agent"
    if base in RESERVED_SLUGS:
        base = f"{base}-agent"
    taken = set(Agent.objects.filter(slug__startswith=base).values_list("slug", flat=True))
    if base not in taken:
        return base
    return next(slug for n in range(2, 10_000) if (slug := f"{base}-{n}") not in taken)
