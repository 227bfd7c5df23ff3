"""The MCP server itself: the SDK's, with handlers for what we serve."""

from functools import partial
from typing import Any, Final

import mcp_types as types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError

from agents.mcp.calls import Answer, call_tool
from agents.mcp.changes import on_initialized, on_listen
from agents.mcp.endpoint import BadCursor, Endpoint, endpoint_found, endpoint_page
from agents.mcp.meta import instructions_of, is_meta, meta_call, meta_tools
from agents.mcp.metering import Metered
from agents.mcp.rendering import rendered, tools_text
from agents.mcp.request_state import boundary
from agents.mcp.requests import LARGEST_BODY
from agents.mcp.sessions import Sessions
from agents.mcp.visits import current_visit, schema_of_named, visit_of
from config.lib.errors import DomainError
from config.lib.threads import in_thread
from config.lib.types import JsonObject

NAME: Final = "outfitter"

IDLE_SECONDS = 30 * 60.0
MOST_SESSIONS = 2_000
"""Sessions of the handshake revisions in one process; `sessions` says how many one person has."""


class McpServer(Server[dict[str, Any]]):
    """Tells clients of the handshake revisions too that its lists change, and each how to use the
    address that it came to."""

    @property
    def instructions(self) -> str | None:
        """Return what the client that is served here is told."""
        visit = current_visit.get()
        return instructions_of(visit.endpoint) if visit else None

    @instructions.setter
    def instructions(self, said: str | None) -> None:
        """Take what the SDK's constructor sets."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """Return what `initialize` answers with."""
        return super().create_initialization_options(
            notification_options or NotificationOptions(tools_changed=True),
            experimental_capabilities,
            extensions,
        )


def make_server() -> McpServer:
    """Return the one server of a process, for all addresses."""
    server = McpServer(
        NAME,
        version="1",
        title="Outfitter",
        cache_hints={"tools/list": CacheHint(ttl_ms=0, scope="private")},
        get_tool_input_schema=schema_of_named,
        on_call_tool=on_call_tool,
        on_subscriptions_listen=on_listen,
    )
    server.add_request_handler("tools/list", types.PaginatedRequestParams, on_list_tools)
    server.add_notification_handler(
        "notifications/initialized", types.NotificationParams, on_initialized
    )
    server.middleware += [Metered(), boundary()]
    return server


def make_manager(server: McpServer) -> Sessions:
    """Return what speaks HTTP for the server; who may come in was checked before it."""
    return Sessions(
        server,
        session_idle_timeout=IDLE_SECONDS,
        max_sessions=MOST_SESSIONS,
        max_request_body_size=LARGEST_BODY,
    )


async def on_list_tools(
    ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams
) -> JsonObject:
    """Answer `tools/list`; its tools are put in when it is sent."""
    visit = visit_of(ctx)
    require(visit.endpoint, "tools:read")
    cursor, version = params.cursor or "", ctx.protocol_version
    try:
        visit.answer.tools, following = await in_thread(_page, visit.endpoint, cursor, version)
    except BadCursor as error:
        raise MCPError(types.INVALID_PARAMS, f"{error.message} {error.hint}") from None
    except DomainError as error:  # such as two tools of an agent that have one name
        raise MCPError(types.INTERNAL_ERROR, f"{error.message} {error.hint}") from None
    more = {"nextCursor": following} if following else {}
    return {"resultType": "complete", "tools": [], **more}


def _page(endpoint: Endpoint, cursor: str, version: str) -> tuple[bytes, str]:
    """Return the tools of a page as JSON, and the cursor of the next."""
    texts = [] if cursor else rendered(meta_tools(endpoint, version), version)
    following = ""
    if not endpoint.progressive:
        specs, following = endpoint_page(endpoint, cursor)
        texts += tools_text(specs, version)
    return b",".join(texts), following


async def on_call_tool(
    ctx: ServerRequestContext[Any], params: types.CallToolRequestParams
) -> Answer:
    """Answer `tools/call`."""
    visit = visit_of(ctx)
    require(visit.endpoint, "tools:run")
    if is_meta(visit.endpoint, params.name):
        answer = await meta_call(ctx, visit.endpoint, params)
        if answer is None:
            raise unknown_tool(params.name)
        return answer
    found = visit.found
    if found is None or visit.named != params.name:
        found = await in_thread(partial(endpoint_found, visit.endpoint, params.name))
    if found is None or found.missing:
        raise unknown_tool(params.name)
    arguments: JsonObject = params.arguments or {}
    return await call_tool(ctx, visit.endpoint, found.spec, arguments, params)


def unknown_tool(name: str) -> MCPError:
    """Return the error for a tool that is not there, or not for this token to know of."""
    return MCPError(types.INVALID_PARAMS, f"Unknown tool: {name[:64]}")


def require(endpoint: Endpoint, scope: str) -> None:
    """Raise an error where the token lacks a scope; the door has refused most of these before."""
    if not endpoint.bearer.may(scope):
        raise MCPError(types.INVALID_REQUEST, f"This token lacks the scope {scope}.")


def authenticated(endpoint: Endpoint, path: str) -> AuthenticatedUser:
    """Return whom a session belongs to: it is of no use with another token, or at another address.

    The tokens that an OAuth client is given one after the other are one to its sessions.
    """
    bearer = endpoint.bearer
    return AuthenticatedUser(
        AccessToken(
            token="",
            client_id=bearer.client_id or bearer.key,
            scopes=[],
            subject=str(bearer.user.pk),
            claims={"iss": path},
        )
    )
