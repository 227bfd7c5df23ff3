"""The MCP SDK's client, with its own OAuth, uses tools at `/mcp` and at an agent's address."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata
from oauth2_provider.models import AccessToken

from agents.models import Agent
from tests import factories
from tests.agents.oauth.documents import Documents
from tests.agents.oauth_live.browsing import TOKEN, Consenting, Kept, signed_in
from tests.factories import make_person
from tests.live import Live

pytestmark = pytest.mark.xdist_group("live")


@pytest.fixture
def alice(live: Live) -> Any:
    return make_person("alice")


@pytest.fixture
def agent(alice: Any) -> Agent:
    calculator = factories.make_builtin("calculator", required_scopes=["sums:do"])
    clock = factories.make_builtin("current_time")
    return factories.make_agent(alice, calculator, clock, slug="desk", scopes=["sums:do"])


@pytest.fixture
def person(live: Live, agent: Agent) -> Iterator[Consenting]:
    with closing(signed_in(live.url, "alice")) as browser:
        yield Consenting(browser)


@asynccontextmanager
async def connected(url: str, oauth: httpx2.Auth) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(auth=oauth, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode="auto") as client,
    ):
        yield client


def test_a_person_connects_a_client_which_steps_up_when_a_tool_wants_more(
    live: Live, person: Consenting, documents: Documents
) -> None:
    kept = Kept()
    oauth = OAuthClientProvider(
        f"{live.url}/mcp",
        OAuthClientMetadata(
            client_name="Desk helper",
            redirect_uris=["http://127.0.0.1:49152/callback"],
            grant_types=["authorization_code", "refresh_token"],
            token_endpoint_auth_method="none",
        ),
        kept,
        redirect_handler=person.redirect,
        callback_handler=person.callback,
        client_metadata_url=documents.put("/mcp-client.json"),
    )

    async def used() -> None:
        async with connected(f"{live.url}/mcp", oauth) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert person.seen == [["tools:read", "tools:run"]]
            assert "current_time" in names
            result = await client.call_tool("calculator", {"expression": "6*7"})
            assert not result.is_error
            assert person.seen[-1] == ["tools:read", "tools:run", "sums:do"]

    asyncio.run(used())
    assert AccessToken.objects.latest("pk").resource == [f"{live.url}/mcp"]
    assert kept.tokens is not None
    headers = {"Authorization": f"Bearer {kept.tokens.access_token}"}
    for elsewhere in ("/api/v1/tools/", "/mcp/agents/desk"):
        assert httpx.get(f"{live.url}{elsewhere}", headers=headers, timeout=60).status_code == 401


async def test_an_agents_own_program_uses_its_agents_tools(
    live: Live, person: Consenting, agent: Agent
) -> None:
    page = person.browser.get(f"/agents/{agent.slug}/programs/")
    made = person.browser.post(
        "/api/v1/oauth/clients/",
        json={"agent": agent.slug, "name": "Nightly"},
        headers={"X-CSRFToken": TOKEN.findall(page.text)[0]},
    ).json()
    url = f"{live.url}/mcp/agents/{agent.slug}"
    oauth = ClientCredentialsOAuthProvider(
        url, Kept(), made["clientId"], made["clientSecret"], issuer=live.url
    )
    async with connected(url, oauth) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["current_time"]
        result = await client.call_tool("calculator", {"expression": "6*7"})  # steps up
        assert not result.is_error
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["calculator", "current_time"]
