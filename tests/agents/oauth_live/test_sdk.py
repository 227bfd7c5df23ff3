"""The MCP SDK's own OAuth clients complete every flow against the running product."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import httpx2
import pytest
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.shared.auth import OAuthClientMetadata
from oauth2_provider.models import AccessToken

from agents.models import Agent, OAuthClient
from agents.models.oauth_client import ClientState
from registry.models import Tool
from tests import factories
from tests.agents.oauth.documents import Documents
from tests.agents.oauth_live.browsing import TOKEN, Consenting, Kept, signed_in
from tests.factories import make_person
from tests.live import Live

pytestmark = pytest.mark.xdist_group("live")
CALLBACK = "http://127.0.0.1:49152/callback"


@pytest.fixture
def alice(live: Live) -> Any:
    return make_person("alice")


@pytest.fixture
def tool(live: Live) -> Tool:
    return factories.make_builtin("calculator", required_scopes=["sums:do"])


@pytest.fixture
def person(live: Live, alice: Any) -> Iterator[Consenting]:
    with closing(signed_in(live.url, "alice")) as browser:
        yield Consenting(browser)


def provider(
    live: Live, person: Consenting, kept: Kept, document: str | None = None
) -> OAuthClientProvider:
    return OAuthClientProvider(
        f"{live.url}/api/v1",
        OAuthClientMetadata(
            client_name="Desk helper",
            redirect_uris=[CALLBACK],
            grant_types=["authorization_code", "refresh_token"],
            token_endpoint_auth_method="none",
        ),
        kept,
        redirect_handler=person.redirect,
        callback_handler=person.callback,
        client_metadata_url=document,
    )


def run(live: Live, tool: Tool) -> dict[str, Any]:
    return {
        "url": f"{live.url}/api/v1/tools/{tool.pk}/run/",
        "json": {"arguments": {"expression": "6*7"}},
    }


async def test_by_document_then_refresh_then_step_up(
    live: Live, person: Consenting, tool: Tool, documents: Documents
) -> None:
    document = documents.put("/client.json")
    kept = Kept()
    oauth = provider(live, person, kept, document)
    async with httpx2.AsyncClient(auth=oauth, timeout=60) as program:
        listed = await program.get(f"{live.url}/api/v1/tools/")
        assert listed.status_code == 200 and listed.json()["results"]
        assert kept.client and kept.client.client_id == document
        assert kept.tokens and kept.tokens.scope == "tools:read tools:run"
        assert len(person.seen) == 1

        first = kept.tokens.access_token
        oauth.context.token_expiry_time = 1.0  # as if its hour were over
        assert (await program.get(f"{live.url}/api/v1/tools/")).status_code == 200
        assert kept.tokens.access_token != first and len(person.seen) == 1

        answer = await program.post(**run(live, tool))
        assert answer.status_code == 200, answer.text
        assert answer.json()["output"]["result"] == 42
        assert "sums:do" in person.seen[-1] and len(person.seen) == 2


def test_by_registration_that_a_governor_has_to_allow(live: Live, person: Consenting) -> None:
    kept = Kept()

    async def listed() -> int:
        async with httpx2.AsyncClient(auth=provider(live, person, kept), timeout=60) as program:
            return (await program.get(f"{live.url}/api/v1/tools/")).status_code

    with pytest.raises(AssertionError, match="waits for a governor"):
        asyncio.run(listed())
    assert kept.client is not None
    client = OAuthClient.objects.get(client_id=kept.client.client_id)
    assert client.state == ClientState.WAITING
    OAuthClient.objects.update(state=ClientState.ALLOWED)
    assert asyncio.run(listed()) == 200
    assert AccessToken.objects.filter(application=client, user__isnull=False).count() == 1


async def test_an_answer_of_another_server_is_refused_by_the_client(
    live: Live, person: Consenting, documents: Documents
) -> None:
    oauth = provider(live, person, Kept(), documents.put("/client.json"))
    honest = person.redirect

    async def mixed_up(address: str) -> None:
        await honest(address)
        assert "iss=" in person.answer
        person.answer = person.answer.replace("iss=http", "iss=https")

    oauth.context.redirect_handler = mixed_up
    async with httpx2.AsyncClient(auth=oauth, timeout=60) as program:
        with pytest.raises(OAuthFlowError, match=r"(?i)iss"):
            await program.get(f"{live.url}/api/v1/tools/")


@pytest.fixture
def agent(alice: Any, tool: Tool) -> Agent:
    return factories.make_agent(alice, tool, scopes=["sums:do"])


async def test_an_agents_program_by_client_credentials(
    live: Live, person: Consenting, agent: Agent, tool: Tool
) -> None:
    browser = person.browser
    page = browser.get(f"/agents/{agent.slug}/programs/")
    made = browser.post(
        "/api/v1/oauth/clients/",
        json={"agent": agent.slug, "name": "Nightly"},
        headers={"X-CSRFToken": TOKEN.findall(page.text)[0]},
    )
    assert made.status_code == 201, made.text
    told = made.json()
    for method in ("client_secret_basic", "client_secret_post"):
        oauth = ClientCredentialsOAuthProvider(
            f"{live.url}/api/v1",
            Kept(),
            told["clientId"],
            told["clientSecret"],
            method,  # type: ignore[arg-type]
            issuer=live.url,
        )
        async with httpx2.AsyncClient(auth=oauth, timeout=60) as program:
            assert (await program.get(f"{live.url}/api/v1/tools/")).status_code == 200
            answer = await program.post(**run(live, tool))  # steps up
            assert answer.status_code == 200, answer.text
            assert answer.json()["output"]["result"] == 42


def test_no_secret_reaches_the_log(live: Live, person: Consenting, documents: Documents) -> None:
    answer = httpx.post(
        f"{live.url}/o/token",
        data={"grant_type": "refresh_token", "refresh_token": "ofr_telltale", "client_id": "x"},
        timeout=60,
    )

    assert answer.status_code == 401
    assert "ofr_telltale" not in live.log("web")
