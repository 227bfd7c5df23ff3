"""What a client is answered that has got the address slightly wrong."""

import httpx
import pytest
from django.test import Client

from tests.agents.mcp.site import HANDSHAKE, MODERN, post, token_for, using
from tests.factories import make_agent, make_builtin, make_user


async def names(client):
    return [tool.name for tool in (await client.list_tools()).tools]


@pytest.mark.parametrize("version", [MODERN, HANDSHAKE[0]])
@pytest.mark.parametrize("path", ["/mcp/", "/mcp/agents/helper/", "/mcp/?discovery=all"])
def test_the_sdks_client_works_with_a_slash_too_much(site, path, version):
    alice = make_user("alice")
    make_agent(alice, make_builtin("calculator"), slug="helper")

    assert using(f"{site}{path}", token_for(alice), names, version=version) == ["calculator"]


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_a_slash_too_much_leads_on_in_the_same_way_and_says_so(site, method):
    answer = httpx.request(method, f"{site}/mcp/agents/a%20b/?discovery=all&x=%0d%0ay", timeout=30)
    assert answer.status_code == 308
    assert answer.headers["location"] == "/mcp/agents/a%20b?discovery=all&x=%0d%0ay"
    assert answer.json()["error"]["data"]["code"] == "moved"
    assert "/mcp/agents/a%20b" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "path", ["/mcp/x", "/mcp//", "/mcp/agents/", "/mcp/agents/a/b", "/mcp/agents"]
)
def test_what_is_no_address_is_told_as_an_error_of_mcp(site, path):
    answer = post(f"{site}{path}", "", "tools/list")
    assert answer.status_code == 404
    assert answer.json()["error"]["data"]["code"] == "not_found"
    assert "/mcp/agents/<slug>" in answer.json()["error"]["message"]


def test_a_person_sees_a_page(site):
    answer = httpx.get(f"{site}/mcp/x", headers={"Accept": "text/html,*/*;q=0.8"}, timeout=30)
    assert (answer.status_code, answer.text) == (404, "A page says that this is nothing.")


@pytest.mark.parametrize("accept", ["*/*", "application/json", ""])
@pytest.mark.parametrize(
    "path", ["/discovery/x/", "/discovery/tools/register/", "/api/x", "/api/v1/x/"]
)
def test_other_addresses_for_programs_answer_in_json(db, path, accept):
    for method in ("get", "post"):
        answer = getattr(Client(), method)(path, headers={"accept": accept})
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_a_person_sees_a_page_of_what_discovery_has_not(db):
    answer = Client().get("/discovery/x/", headers={"accept": "text/html"})
    assert answer.status_code == 404 and b"<!doctype html>" in answer.content.lower()
