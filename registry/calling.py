"""Call a tool for a person who asked for it directly: on its page, or through the REST API."""

from collections.abc import Mapping
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.utils.module_loading import import_string

from config.lib.types import JsonObject, JsonValue
from registry.authoring import author_for, has_author
from registry.context import CallContext
from registry.execution import invoke
from registry.loading import load_spec
from registry.models import Tool
from registry.models.invocation import Caller
from registry.results import ToolResult
from registry.selectors import tool_unseen
from registry.standing import named_by_id


def direct_context(
    user: User,
    *,
    caller: Caller,
    scopes: frozenset[str] | None = None,
    given: Mapping[str, str] | None = None,
    agent: str = "",
    token: str = "",
) -> CallContext:
    """Return the circumstances of a person's own call, or of one that they make as an agent.

    The tool reads the person's credentials, or the agent's; a value in `given` wins over a stored
    one. As an agent, the call also has the agent's presets and denials, and of `scopes` no more
    than the agent is granted. `token` is the OAuth access token that they came with.
    """
    context = (
        _as_agent(user, agent, caller)
        if agent
        else CallContext(
            user=user, caller=caller, env=import_string(settings.TOOL_CREDENTIALS)(user, None)
        )
    )
    allowed = [limit for limit in (context.scopes, scopes) if limit is not None]
    return context.with_given(given or {}).derive(
        scopes=frozenset.intersection(*allowed) if allowed else None,
        caller_token=lambda: token or None,
    )


def tool_to_call(user: User, tool_id: UUID) -> Tool:
    """Return what `tool_visible_to` does, as quickly as a call wants it; raise NotFound too."""
    known = named_by_id(tool_id)
    if known is None or not known.standing.seen_by(user):
        raise tool_unseen()
    return known.tool


def call_directly(
    tool: Tool, arguments: JsonValue, context: CallContext, *, version: int | None = None
) -> ToolResult:
    """Call a tool and wait for it; raise ToolUnavailable when there is no such version."""
    return invoke(load_spec(tool, version), arguments, context)


def launch(
    tool: Tool,
    arguments: JsonValue,
    context: CallContext,
    *,
    version: int | None = None,
    wait_seconds: float = 0,
) -> JsonObject | None:
    """Start a tool that runs in the background and return `{run, status, url, page}`.

    One that is over within `wait_seconds` has its `output` and `error` besides.

    Returns None for a kind of tool that answers at once. Raises ToolError when it may not run.
    """
    if not has_author(tool.kind):
        return None
    return author_for(tool.kind).launch(
        context.user, tool, arguments, context, version, wait_seconds
    )


def _as_agent(user: User, slug: str, caller: Caller) -> CallContext:
    context: CallContext = import_string(settings.TOOL_AGENTS)(user, slug, caller=caller)
    return context
