"""The MCP server, for tests whose rows other threads see."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents.mcp.site import served


@pytest.fixture
def site(transactional_db: None) -> Iterator[str]:
    """Serve it on an empty database; gives the base URL."""
    with served() as url:
        yield url
