"""Whose agents use a tool."""

from uuid import UUID

from agents.models import AgentTool
from agents.models.agent_tool import Approval


def owners_using(tool_id: UUID) -> set[int]:
    """Return the ids of the people with an agent that carries the tool and may call it."""
    links = AgentTool.objects.filter(tool_id=tool_id).exclude(approval=Approval.DENY)
    return set(links.values_list("agent__owner_id", flat=True))
