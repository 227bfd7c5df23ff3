"""What the log and the metrics tell of the requests of MCP clients."""

import time
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from config.lib.meters import MCP_REQUESTS, MCP_SECONDS

METHODS = frozenset(
    {
        *("initialize", "ping", "server/discover", "subscriptions/listen", "logging/setLevel"),
        *("tools/list", "tools/call", "prompts/list", "prompts/get", "completion/complete"),
        *("resources/list", "resources/read", "resources/templates/list"),
        *("resources/subscribe", "resources/unsubscribe"),
        *("notifications/initialized", "notifications/cancelled", "notifications/progress"),
        "notifications/roots/list_changed",
    }
)
"""Those that are counted under their own names; a client may send any text as a method."""


class Metered(ServerMiddleware[Any]):
    """Counts each message by its method, the era of its protocol, and how it ended.

    `Server.middleware.append(Metered())`. The outcome is `succeeded`, `tool_error`, the code of
    the JSON-RPC error, or `failed` for what nobody foresaw.
    """

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Answer it, and count it."""
        started, outcome = time.monotonic(), "failed"
        try:
            result = await call_next(ctx)
            outcome = "tool_error" if _is_tool_error(result) else "succeeded"
            return result
        except MCPError as error:
            outcome = str(error.error.code)
            raise
        finally:
            method = ctx.method if ctx.method in METHODS else "other"
            modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
            MCP_REQUESTS.labels(method, "stateless" if modern else "handshake", outcome).inc()
            MCP_SECONDS.labels(method).observe(time.monotonic() - started)


def _is_tool_error(result: object) -> bool:
    if isinstance(result, dict):
        return result.get("isError") is True
    return getattr(result, "is_error", False) is True
