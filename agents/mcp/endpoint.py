"""What one address of the MCP server offers to whoever comes with a token.

All of it is read anew at each request: a tool that was stopped, a link that was cut or a scope
that was taken away is gone at once.
"""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from threading import Event

from django.contrib.auth.models import User
from django.db.models import QuerySet

from agents.access import agent_context, linked_named, linked_toolset
from agents.bearer import Bearer
from agents.credentials import env_of
from agents.models import Agent
from config.lib.errors import InvalidInput
from config.lib.jsontext import clean_text
from registry.context import CallContext, Progress, ignore_progress
from registry.loading import load_current, load_spec
from registry.models import Tool
from registry.models.invocation import Caller
from registry.models.tool import ToolKind
from registry.selectors import tools_usable_by
from registry.specs import ToolSpec
from registry.standing import named

PAGE = 500
"""Tools on one page of a list."""

_READ = (
    *("wire_name", "version", "required_scopes", "deprecated_on"),
    *("successor__wire_name", "successor__deleted_at"),
)
"""What of a tool's row its spec is found by; the rest is in its version."""


class BadCursor(InvalidInput):
    """The cursor is none that this list gave out."""

    code = "bad_cursor"
    default_hint = "Begin the list anew, without a cursor."


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """An address, seen with a token.

    `agent` is the agent whose toolset it is; None at `/mcp`, which has all that the token's person
    may use. `progressive`: the list has only the tools that find and call the others.
    """

    bearer: Bearer
    agent: Agent | None = None
    progressive: bool = False


@dataclass(frozen=True, kw_only=True)
class Found:
    """A tool that an endpoint knows by a name; `missing` are scopes that the token lacks for it."""

    spec: ToolSpec
    missing: frozenset[str] = frozenset()


def endpoint_context(
    endpoint: Endpoint, *, progress: Progress = ignore_progress, cancel: Event | None = None
) -> CallContext:
    """Return the circumstances of the calls that come through an endpoint.

    The scopes are those of the token; through an agent, what both the agent and the token have.
    """
    bearer, agent, stop = endpoint.bearer, endpoint.agent, cancel or Event()
    if agent is None:
        context = CallContext(
            user=bearer.user, caller=Caller.MCP, env=env_of(bearer.user, None), cancel=stop
        )
    else:
        context = agent_context(agent, bearer.user, caller=Caller.MCP, cancel=stop)
    held = [scopes for scopes in (context.scopes, bearer.scopes) if scopes is not None]
    token = bearer.token or None
    return context.derive(
        scopes=frozenset.intersection(*held) if held else None,
        progress=progress,
        caller_token=lambda: token,
    )


def endpoint_found(endpoint: Endpoint, name: str) -> Found | None:
    """Return the tool of this name, also one for which the token has not all scopes.

    None where there is no such tool for this person and this agent.
    """
    bearer, agent, name = endpoint.bearer, endpoint.agent, clean_text(name)
    if agent is None:
        return _of_person(bearer, name)
    spec = linked_named(agent, bearer.user, name)
    if spec is None or not spec.required_scopes <= frozenset(agent.scopes):
        return None
    return Found(spec=spec, missing=_missing(bearer, spec.required_scopes))


def endpoint_tool(endpoint: Endpoint, name: str) -> ToolSpec | None:
    """Return the tool that an endpoint lets its token call by this name, or None."""
    found = endpoint_found(endpoint, name)
    return found.spec if found is not None and not found.missing else None


def endpoint_page(
    endpoint: Endpoint, cursor: str = "", limit: int = 0
) -> tuple[list[ToolSpec], str]:
    """Return a page of the tools that the token may call, by name, and the cursor of the next.

    The cursor is empty at the end. A page follows the name that the one before ended with, so
    tools that come or go meanwhile neither repeat others nor hide them. Raises BadCursor.
    """
    after = _name_in(cursor) if cursor else ""
    limit = limit or PAGE
    page = list(islice(_callable(endpoint, after, limit + 1), limit + 1))
    more = len(page) > limit
    return page[:limit], _cursor_of(page[limit - 1].wire_name) if more else ""


def _callable(endpoint: Endpoint, after: str, some: int) -> Iterator[ToolSpec]:
    scopes = endpoint.bearer.scopes
    if endpoint.agent is not None:
        held = frozenset(endpoint.agent.scopes)
        held = held if scopes is None else held & scopes
        tools = linked_toolset(endpoint.agent, endpoint.bearer.user)
        for name in sorted(tools):
            if name > after and tools[name].required_scopes <= held:
                yield tools[name]
        return
    rows = tools_of(endpoint.bearer.user)
    if scopes is not None:
        rows = rows.filter(required_scopes__contained_by=sorted(scopes))
    yield from load_current(rows.filter(wire_name__gt=after)[:some])


def tools_of(user: User) -> QuerySet[Tool]:
    """Return what a person may call by name, by wire name; code runs through a tool of its own."""
    tools = tools_usable_by(user).exclude(kind=ToolKind.CODE).order_by("wire_name")
    return tools.select_related(None).select_related("successor").only(*_READ)


def _of_person(bearer: Bearer, name: str) -> Found | None:
    known = named(name)
    if known is None or known.tool.kind == ToolKind.CODE:
        return None
    if not known.standing.usable_by(bearer.user):
        return None
    required = frozenset(known.standing.required_scopes)
    return Found(spec=load_spec(known.tool), missing=_missing(bearer, required))


def _missing(bearer: Bearer, required: frozenset[str]) -> frozenset[str]:
    return frozenset() if bearer.scopes is None else required - bearer.scopes


def _cursor_of(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode()


def _name_in(cursor: str) -> str:
    try:
        name = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise BadCursor() from None
    if _cursor_of(name) != cursor or "\0" in name:
        raise BadCursor()
    return name
