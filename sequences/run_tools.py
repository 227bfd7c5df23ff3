"""The tools that a run calls, read once."""

from functools import cached_property
from uuid import UUID

from config.lib.ids import uuid_in
from config.lib.prepared import Worded
from registry.models import Tool
from sequences.definition import Definition, Step

_TOOLS = Worded(
    lambda: Tool.objects.order_by().extra(where=["registry_tool.id = ANY(%s)"], params=[[]])
)


class RunTools:
    """Finds the tool of a step, with one query for a whole run instead of one for each step.

    Whether it may be called is asked anew at each call, by `registry.execution`.
    """

    def __init__(self, definition: Definition) -> None:
        self._definition = definition

    def tool_of(self, step: Step) -> Tool | None:
        """Return the tool of a step, or None where there never was one."""
        tool_id = uuid_in(step.tool)
        return self._tools.get(tool_id) if tool_id else None

    @cached_property
    def _tools(self) -> dict[UUID, Tool]:
        ids = {tool_id for step in self._definition.steps if (tool_id := uuid_in(step.tool))}
        return {tool.pk: tool for tool in _TOOLS.all(list(ids))}
