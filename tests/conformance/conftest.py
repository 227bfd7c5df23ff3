"""The running product, with the tools that the suite calls at the address of an agent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest
from django.contrib.auth.models import User
from django.db import connection

from agents.models import Agent, AgentTool
from agents.tokens import token_create
from registry.models import Tool
from tests import factories
from tests.conformance.proxy import adding_token
from tests.conformance.sequences import asking_sequences
from tests.conformance.upstream import upstream_app
from tests.fakes.mcp_server import running_app
from tests.flows.test_kinds import Visitor
from tests.live import Live, live, live_processes

__all__ = ["live", "live_processes"]

SLUG = "everything"


@dataclass(frozen=True)
class Site:
    """The address of the agent, a token for it, and an address that needs none."""

    url: str
    token: str
    open_url: str


@pytest.fixture
def site(live: Live, governor: User) -> Iterator[Site]:
    """Import the server with the suite's tools, and serve them as those of an agent."""
    _, token = token_create(governor, name="conformance")
    agent = factories.make_agent(governor, slug=SLUG)

    def change() -> None:
        """Let the agent say something else of one of its tools."""
        link = AgentTool.objects.get(agent=agent, name_override="test_simple_text")
        link.description_override = f"Simple, said {len(link.description_override)} letters later."
        link.save()
        connection.close()

    headers = {"Authorization": f"Bearer {token}"}
    with (
        running_app(upstream_app(change)) as upstream,
        httpx.Client(base_url=live.url, headers=headers, timeout=90) as client,
    ):
        settings = {"transport": "http", "url": upstream}
        imported = Visitor(client).bring(ecosystem="mcp", name="everything", settings=settings)
        _link(agent, {name: Tool.objects.get(pk=pk) for name, pk in imported.items()})
        AgentTool.objects.filter(name_override="test_streaming_elicitation").update(approval="ask")
        _link(agent, asking_sequences(governor))
        url = f"{live.url}/mcp/agents/{SLUG}"
        with running_app(adding_token(url, token)) as open_url:
            yield Site(url, token, open_url)


def _link(agent: Agent, tools: dict[str, Tool]) -> None:
    for name, tool in tools.items():
        AgentTool.objects.create(agent=agent, tool=tool, name_override=name)
