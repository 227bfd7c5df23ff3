"""The product as an MCP server: `/mcp` and `/mcp/agents/<slug>`."""
