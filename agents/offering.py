"""Offer an agent to other agents, as a tool that asks it."""

from django.db import transaction

from agents.models import Agent
from agents.models.agent import AgentVisibility
from config.lib.types import JsonSchema
from registry.models import Tool
from registry.models.tool import ToolKind, Visibility
from registry.review.drafts import tool_write
from registry.services import tool_delete

SECONDS = 300
"""How long whoever asks waits for the answer."""

INPUT_SCHEMA: JsonSchema = {
    "type": "object",
    "properties": {
        "message": {
            "type": "string",
            "minLength": 1,
            "maxLength": 20_000,
            "description": "What it should do or find out, with all that it needs to know: it "
            "does not see this conversation.",
        }
    },
    "required": ["message"],
    "additionalProperties": False,
}


@transaction.atomic
def agent_offer(agent: Agent) -> Tool:
    """Make the tool by which others may ask the agent, or bring it up to date.

    Those may who may talk to the agent. It requires all scopes that the agent has, so that nobody
    reaches through it what their own agent is not granted.
    """
    tool = agent.offered_as or Tool(
        kind=ToolKind.AGENT, owner=agent.owner, timeout_seconds=SECONDS, category="agent"
    )
    tool.deleted_at = None
    shared = agent.visibility == AgentVisibility.TEAM
    written = tool_write(
        tool,
        author=agent.owner,
        name=f"Ask {agent.name}",
        description=agent.description or f"Ask the agent {agent.name}, and get its answer.",
        definition={"agent": str(agent.pk)},
        input_schema=INPUT_SCHEMA,
        visibility=Visibility.TEAM if shared else Visibility.PRIVATE,
        team=agent.team if shared else None,
        required_scopes=agent.scopes,
    )
    if agent.offered_as_id != written.pk:
        agent.offered_as = written
        agent.save(update_fields=["offered_as", "updated_at"])
    return written


@transaction.atomic
def agent_withdraw(agent: Agent) -> None:
    """Take the tool away; agents that carry it are told that it is gone."""
    if agent.offered_as is not None:
        tool_delete(agent.offered_as)
        agent.offered_as = None
        agent.save(update_fields=["offered_as", "updated_at"])


def offer_follow(agent: Agent) -> None:
    """Bring the tool up to date after a change of the agent, where it is offered."""
    if agent.offered_as is not None:
        agent_offer(agent)
