"""Call a tool by its name, as a person or as an agent, and give its output itself."""

import re
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User

from agents.bearer import Bearer
from agents.discovery.audience import agent_of
from agents.models import AgentTool
from config.lib.errors import NotFound
from config.lib.ids import uuid_in
from config.lib.types import JsonObject, JsonValue
from registry.calling import call_directly, direct_context, launch
from registry.context import CallContext
from registry.errors import ToolFailed
from registry.models import Tool
from registry.models.invocation import Caller
from registry.results import Failed
from registry.standing import named, named_by_id

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""The form of a tool's name or id in an address."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a call gave: its output, or `run`, how a sequence goes on that takes longer."""

    output: JsonValue = None
    run: JsonObject | None = None


def tool_use(
    user: User,
    bearer: Bearer | None,
    name: str,
    arguments: JsonValue,
    *,
    agent: str = "",
    wait_seconds: float = 0,
) -> Answer:
    """Call the tool of this name or id, as its agent knows it where there is one.

    Raises NotFound, and what the call is refused with or fails with.
    """
    slug = agent_of(user, bearer, agent)
    context = direct_context(
        user, caller=Caller.REST, scopes=bearer.scopes if bearer else None, agent=slug
    )
    if bearer is not None and bearer.token:
        token = bearer.token
        context = context.derive(caller_token=lambda: token)
    tool, version = _tool(user, name, context)
    run = launch(tool, arguments, context, version=version, wait_seconds=wait_seconds)
    if run is not None:
        return _ended(tool, run)
    result = call_directly(tool, arguments, context, version=version)
    if isinstance(result, Failed):
        if result.invocation_id is not None:
            result.error.extra["invocation"] = str(result.invocation_id)
        raise result.error
    return Answer(output=result.output)


def _tool(user: User, name: str, context: CallContext) -> tuple[Tool, int | None]:
    """Return the tool that a name means to an agent or a person, and the version it is pinned to.

    A name that the agent's link gives comes before one of the catalogue.
    """
    if not NAME.fullmatch(name):
        raise _unknown(name)
    links = AgentTool.objects.filter(agent_id=context.agent_id) if context.agent_id else None
    link = links.filter(name_override=name).first() if links is not None else None
    id_ = link.tool_id if link else uuid_in(name)
    known = named_by_id(id_) if id_ else named(name)
    if known is None or not known.standing.seen_by(user):
        raise _unknown(name)
    return known.tool, _pinned(known.tool.pk, context.agent_id)


def _unknown(name: str) -> NotFound:
    return NotFound(
        f"There is no tool “{name[:100]}”, or you may not see it.",
        "Discover again: it may have been renamed or unregistered.",
    )


def _pinned(tool_id: UUID, agent_id: UUID | None) -> int | None:
    if agent_id is None:
        return None
    links = AgentTool.objects.filter(agent_id=agent_id, tool_id=tool_id)
    return links.values_list("pinned_version", flat=True).first()


def _ended(tool: Tool, run: JsonObject) -> Answer:
    if run.get("error"):
        raise ToolFailed(
            f"{tool.wire_name} failed: {run['error'].get('message', 'no reason was given')}",
            "Look at its run.",
            tool=tool.wire_name,
            run=run["run"],
            page=run["page"],
        )
    return Answer(output=run["output"]) if run["status"] == "succeeded" else Answer(run=run)
