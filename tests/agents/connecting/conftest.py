"""The MCP server, for connections that really are made."""

from tests.agents.mcp.conftest import site

__all__ = ["site"]
