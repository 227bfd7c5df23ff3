"""Tools, sequences and agents that hang together, and what would become of the tools."""

from typing import Any
from uuid import UUID

from django.contrib.auth.models import User

from agents.models import Agent, AgentTool
from registry.impact.finding import impact_of
from registry.impact.parts import Impact
from registry.models import Tool
from registry.specs import snapshot_of
from tests import factories

SEARCH_INPUT = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "maximum": 50}},
    "required": ["query"],
    "additionalProperties": False,
}
SEARCH_OUTPUT = {
    "type": "object",
    "properties": {
        "hits": {
            "type": "array",
            "items": {"type": "object", "properties": {"url": {"type": "string"}}},
        },
        "total": {"type": "integer"},
    },
}
QUERY = {"source": "initialInput", "key": "text"}


def make_search(**fields: Any) -> Tool:
    """Make a tool that takes `{query, limit}` and gives `{hits: [{url}], total}`."""
    return factories.make_tool(
        **{
            "wire_name": "search",
            "title": "Search",
            "input_schema": SEARCH_INPUT,
            "output_schema": SEARCH_OUTPUT,
            **fields,
        }
    )


def step(tool: Tool | UUID, **more: Any) -> dict[str, Any]:
    """Return a step without its number; inputs by name in `inputs`."""
    tool_id = tool.pk if isinstance(tool, Tool) else tool
    return {"toolToRunId": str(tool_id), "inputMapping": more.pop("inputs", {}), **more}


def sequence_of(owner: User, *steps: dict[str, Any], **fields: Any) -> Tool:
    """Make a sequence of these steps that takes `{text}`."""
    definition = {
        "format": 1,
        "steps": [{"stepNumber": number, **each} for number, each in enumerate(steps, 1)],
    }
    if final := fields.pop("final", None):
        definition["finalOutputMapping"] = final
    return factories.make_sequence(owner, definition=definition, **fields)


def searching(owner: User, search: Tool, **fields: Any) -> Tool:
    """Make a sequence whose one step searches."""
    more = fields.pop("step", {})
    inputs = {"query": QUERY, **fields.pop("inputs", {})}
    return sequence_of(owner, step(search, inputs=inputs, **more), **fields)


def link(agent: Agent, tool: Tool, **fields: Any) -> AgentTool:
    """Link a tool to an agent."""
    return AgentTool.objects.create(agent=agent, tool=tool, **fields)


def proposed(tool: Tool, **changes: Any) -> dict[UUID, Any]:
    """Return the tool's snapshot with these changes, as `impact_of` takes it."""
    return {tool.pk: {**snapshot_of(tool), **changes}}


def changed(tool: Tool, reader: User, **changes: Any) -> Impact:
    """Return what these changes of a tool would do."""
    return impact_of([tool.pk], user=reader, proposed=proposed(tool, **changes))


def told(impact: Impact) -> list[tuple[str, str, str]]:
    """Return what would break, as (name, where, message)."""
    return [(item.name, trouble.where, trouble.message) for item, trouble in impact.troubles]
