"""What clients connect to."""

from dataclasses import dataclass

REGISTRY = "outfitter"
"""What clients call the address of all tools."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """An address of the MCP server, on a site such as `https://tools.example`.

    `slug` is the agent whose toolset it is; empty for all that a person may use.
    """

    site: str
    slug: str = ""

    @property
    def path(self) -> str:
        """Return the path of the address."""
        return f"/mcp/agents/{self.slug}" if self.slug else "/mcp"

    @property
    def url(self) -> str:
        """Return the address itself."""
        return self.site + self.path

    @property
    def name(self) -> str:
        """Return the name under which clients keep it."""
        return self.slug or REGISTRY
