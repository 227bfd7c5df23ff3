"""What the meta-tools of an endpoint find: tools that its clients are not told of one by one."""

import difflib
import re
from collections.abc import Collection, Mapping
from functools import partial
from uuid import UUID

from django.contrib.auth.models import User

from agents.mcp.endpoint import Endpoint, Found, endpoint_context, endpoint_found, tools_of
from agents.models import Agent
from agents.models.agent import DiscoveryMode
from agents.registered import Registered
from config.lib.jsontext import clean_text
from config.lib.types import JsonObject
from registry.context import CallContext
from registry.errors import UnknownTool
from registry.finding import Wanted, guidance, searched
from registry.loading import code_ids, load_specs
from registry.models import Tool
from registry.specs import ToolSpec

NEAREST = 5
"""Names that are told to a client which asked for a tool that there is not."""

_WORD = re.compile(r"[A-Za-z0-9_-]{1,64}")


def tools_found(endpoint: Endpoint, wanted: Wanted, limit: int) -> list[tuple[ToolSpec, str]]:
    """Return the tools of an endpoint that fit a search, the best first, with why.

    At an agent's address those are its linked tools and, where its owner lets it search, all others
    that it and the person may use. Raises PatternTooSlow and SearchTimeout.
    """
    context = endpoint_context(endpoint)
    user, agent = context.user, endpoint.agent
    registered = Registered(agent, context) if agent else None
    others: frozenset[UUID] = frozenset()
    by_name: list[ToolSpec] = []
    if registered is not None and agent is not None:
        by_name = [registered.linked[name] for name in wanted.names if name in registered.linked]
        if not _searches(agent):
            linked = {spec.tool_id for spec in registered.linked.values()}
            others = frozenset(tools_of(user).values_list("pk", flat=True)) - linked
    answers = searched(
        wanted,
        user=user,
        recent=(),
        limit=limit,
        exclude=code_ids() | others | {spec.tool_id for spec in by_name},
        scopes=context.scopes,
    )
    hits = [hit for answer in answers for hit in answer.found]
    read: dict[UUID, Tool] = {}
    for answer in answers:
        read |= answer.tools
    specs = _loaded([hit.tool_id for hit in hits], read, registered, user)
    found = [(specs[hit.tool_id], hit.why) for hit in hits if hit.tool_id in specs]
    named = [(spec, "has this name") for spec in by_name]
    return [(spec, why or wanted.why(spec)) for spec, why in (*named, *found)][:limit]


def tool_found(endpoint: Endpoint, name: str) -> Found:
    """Return the tool that a client names, whether or not it was told of it.

    Raises UnknownTool, with the names that come nearest.
    """
    name = clean_text(name)
    if found := endpoint_found(endpoint, name):
        return found
    agent = endpoint.agent
    if agent is not None and _searches(agent):
        registered = Registered(agent, endpoint_context(endpoint))
        spec = registered.named(name)
        fit = registered.kept([spec.tool_id])[0] if spec else {}
        if spec is not None and spec.tool_id in fit:
            return Found(spec=spec)
        raise registered.unknown(name, ())
    raise _unknown(endpoint, name)


def tools_in_program(endpoint: Endpoint, context: CallContext, code: str) -> Mapping[str, ToolSpec]:
    """Return what a program of an endpoint's client may call: those of its tools that it names.

    At an agent's address those are all its linked ones, and others that it names where the agent
    searches.
    """
    names = set(_WORD.findall(code))
    agent = endpoint.agent
    if agent is None:
        rows = tools_of(context.user).filter(wire_name__in=names)
        if context.scopes is not None:
            rows = rows.filter(required_scopes__contained_by=sorted(context.scopes))
        return {spec.wire_name: spec for spec in load_specs(rows)}
    linked = context.tools()
    if not _searches(agent):
        return linked
    rows = tools_of(context.user).filter(wire_name__in=names - linked.keys())
    fit, _ = Registered(agent, context).kept(rows.values_list("pk", flat=True))
    return {**{spec.wire_name: spec for spec in fit.values()}, **linked}


def program_tools(endpoint: Endpoint, code: str) -> partial[Mapping[str, ToolSpec]]:
    """Return what tells the tools of a program when it begins."""
    return partial(tools_in_program, endpoint, endpoint_context(endpoint), code)


def told(found: Collection[tuple[ToolSpec, str]]) -> JsonObject:
    """Return what a client is answered: the tools, why they fit, and what to do now."""
    tools = [
        {
            "name": spec.wire_name,
            "title": spec.title,
            "description": spec.told,
            "why": why,
            **guidance(spec),
        }
        for spec, why in found
    ]
    note = (
        "describe_tool tells what a tool takes; call_tool calls it."
        if tools
        else "No tool fits. Do not search for the same need again: say what is missing."
    )
    return {"tools": tools, "note": note}


def _searches(agent: Agent) -> bool:
    return agent.discovery_mode != DiscoveryMode.LINKED


def _loaded(
    ids: list[UUID], read: Mapping[UUID, Tool], registered: Registered | None, user: User
) -> Mapping[UUID, ToolSpec]:
    if registered is not None:
        return registered.found(ids, read)[0]
    return {spec.tool_id: spec for spec in load_specs(tools_of(user).filter(pk__in=ids))}


def _unknown(endpoint: Endpoint, name: str) -> UnknownTool:
    name = name[:64]
    context = endpoint_context(endpoint)
    if endpoint.agent is not None:
        known = sorted(context.tools())
    else:
        start = name[:3]
        rows = tools_of(context.user).filter(wire_name__istartswith=start)
        known = list(rows.values_list("wire_name", flat=True)[:500])
    near = difflib.get_close_matches(name, known, n=NEAREST)
    hint = f"Did you mean {', '.join(near)}?" if near else "Search for it with search_tools."
    return UnknownTool(f"There is no tool named “{name}”.", hint, tool=name, nearest=near)
