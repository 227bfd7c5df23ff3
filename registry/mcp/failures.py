"""Say what went wrong with a server in the registry's own errors."""

from collections.abc import Iterator

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from registry.errors import (
    OutputRejected,
    ProtocolViolation,
    ToolError,
    ToolFailed,
    ToolInputRejected,
    ToolTimeout,
    ToolUnavailable,
    UnknownExport,
    UpstreamAuth,
    UpstreamUnreachable,
)

LONGEST_MESSAGE = 2000


def tool_error_of(error: BaseException) -> ToolError | None:
    """Return what an exception of the SDK or the sandbox means; None for a fault of ours.

    Of a group the most telling member counts: what the sandbox or the wire said, then what the
    server answered.
    """
    leaves = list(_leaves(error))
    for leaf in leaves:
        if isinstance(leaf, ToolError):
            return leaf
    if (answer := answer_in(error)) is not None:
        return _answered(answer)
    for leaf in leaves:
        if isinstance(leaf, ValidationError):
            first = leaf.errors()[0]
            where = ".".join(map(str, first["loc"]))[:200]
            return ProtocolViolation(
                f"The server's answer is not what MCP says: {where}: {first['msg']}."
            )
        # The SDK's only word for an answer that does not fit the tool's output schema.
        if isinstance(leaf, RuntimeError):
            return OutputRejected(_short(str(leaf)))
    return None


def answer_in(error: BaseException) -> MCPError | None:
    """Return the server's error answer, unless the sandbox or the wire told more."""
    leaves = list(_leaves(error))
    if any(isinstance(leaf, ToolError) for leaf in leaves):
        return None
    return next((leaf for leaf in leaves if isinstance(leaf, MCPError)), None)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _answered(error: MCPError) -> ToolError:
    said = _short(error.message) or "The server answered with an error."
    match error.code:
        case types.INVALID_PARAMS:
            return ToolInputRejected(said)
        case types.METHOD_NOT_FOUND:
            return UnknownExport(f"The server does not know the request: {said}")
        case types.REQUEST_TIMEOUT:
            return ToolTimeout(f"The server did not answer in time: {said}")
        case types.CONNECTION_CLOSED:
            return UpstreamUnreachable(f"The server broke off: {said}")
        case types.URL_ELICITATION_REQUIRED:
            return UpstreamAuth(said, "Open the server's own page and sign in there first.")
        case types.UNSUPPORTED_PROTOCOL_VERSION:
            return ToolUnavailable(
                f"The server speaks no version of MCP that is known here: {said}",
                "Import it again; if that fails too, ask its operator.",
            )
        case types.PARSE_ERROR:
            return ProtocolViolation("The server's answer cannot be read: it is not JSON-RPC.")
    return ToolFailed(said, mcp_code=error.code)


def _short(text: str) -> str:
    return text.strip()[:LONGEST_MESSAGE]
