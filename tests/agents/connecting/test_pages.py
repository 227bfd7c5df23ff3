"""The page Connect, without a server behind it."""

import json

import pytest

from agents.models import ApiToken
from agents.models.agent import McpTools
from agents.tokens import token_create
from tests.factories import make_agent, make_builtin, make_team, make_tool, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice():
    return make_user("alice")


@pytest.fixture
def agent(alice):
    mail = make_tool(wire_name="send_mail", required_scopes=["mail:send"])
    return make_agent(alice, make_builtin(), mail, slug="desk", name="Desk", scopes=["mail:send"])


@pytest.fixture
def browser(client, alice):
    client.force_login(alice)
    return client


def test_the_page_has_the_address_of_the_agent_and_no_token(browser, agent):
    shown = browser.get("/agents/desk/connect/").content.decode()
    assert "http://testserver/mcp/agents/desk" in shown
    assert "YOUR_TOKEN" in shown and "oft_" not in shown


def test_the_public_address_wins_over_the_one_of_the_request(browser, agent, settings):
    settings.PUBLIC_URL = "https://tools.example"
    shown = browser.get("/agents/desk/connect/").content.decode()
    assert "https://tools.example/mcp/agents/desk" in shown and "testserver/mcp" not in shown


def test_the_page_of_the_registry_has_the_address_of_all_tools(browser, agent):
    shown = browser.get("/connect/?client=cursor").content.decode()
    assert "http://testserver/mcp&quot;" in shown
    assert 'id="client-cursor" open' in shown


def test_a_token_is_in_the_settings_of_one_answer_with_the_scopes_that_the_agent_needs(
    browser, agent
):
    given = {"client": "cursor", "days": "30", "tool_scopes": "mail:send"}
    answer = browser.post("/agents/desk/connect/token/", given)
    token = ApiToken.objects.get()

    assert answer["Cache-Control"] == "no-store"
    assert f"Bearer {token.prefix}" in answer.content.decode()
    assert token.scopes == ["mail:send", "tools:read", "tools:run"]
    assert token.name == "Cursor: desk"
    assert token.expires_at is not None
    assert token.prefix not in browser.get("/agents/desk/connect/").content.decode()


def test_the_scopes_of_the_agents_tools_are_proposed(browser, agent):
    shown = browser.get("/agents/desk/connect/").content.decode()
    assert 'name="tool_scopes" value="mail:send"' in shown


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"client": "nobody"}, "nobody is not one of the available choices"),
        ({"days": "5000"}, "5000 is not one of the available choices"),
        ({"tool_scopes": "tools:everything"}, "There is no scope tools:everything."),
        ({"tool_scopes": "Mail Send!"}, "is no scope"),
    ],
)
def test_a_token_that_cannot_be_made_is_refused_with_the_reason(browser, agent, given, said):
    answer = browser.post(
        "/agents/desk/connect/token/", {"client": "cursor", "days": "30", **given}
    )
    assert answer.status_code == 400
    assert said in answer.content.decode()
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize("path", ["connect/", "connect/token/", "connect/test/", "connect/tools/"])
def test_somebody_elses_agent_is_not_there(client, agent, path):
    client.force_login(make_user("mallory"))
    method = client.get if path == "connect/" else client.post
    assert method(f"/agents/desk/{path}", {"mcp_tools": "progressive"}).status_code == 404
    agent.refresh_from_db()
    assert agent.mcp_tools == McpTools.ALL


def test_one_has_to_sign_in(client, agent):
    assert client.get("/connect/").status_code == 302
    assert client.post("/agents/desk/connect/token/").status_code == 302


def test_a_member_of_the_team_connects_and_the_owner_alone_switches(client, alice, agent):
    bob = make_user("bob")
    agent.team, agent.visibility = make_team("Desk", alice, bob), "team"
    agent.save()
    client.force_login(bob)

    shown = client.get("/agents/desk/connect/").content.decode()
    switched = client.post("/agents/desk/connect/tools/", {"mcp_tools": "progressive"})

    assert "Its owner chose: all its tools." in shown
    assert switched.status_code == 404


def test_the_owner_switches_to_progressive_discovery(browser, agent):
    browser.post("/agents/desk/connect/tools/", {"mcp_tools": "progressive"})
    agent.refresh_from_db()
    assert agent.mcp_tools == McpTools.PROGRESSIVE

    browser.post("/agents/desk/connect/tools/", {"mcp_tools": "some"})
    agent.refresh_from_db()
    assert agent.mcp_tools == McpTools.PROGRESSIVE


def test_the_page_says_what_both_lists_take_of_a_window(browser, agent):
    offered = browser.get("/agents/desk/connect/").context["offered"]
    assert offered.all.tools == 2 and offered.progressive.tools == 3
    assert 0 < offered.all.tokens < 2_000 and 0 < offered.progressive.tokens < 5_000


def test_of_many_tools_the_rest_is_worked_out_from_the_first(browser):
    for number in range(120):
        make_tool(wire_name=f"tool_{number:03}")
    answer = browser.get("/connect/")
    assert answer.context["offered"].all.tools == 120
    assert "worked out from the first hundred" in answer.content.decode()


def test_a_test_goes_only_to_a_tool_that_reads(browser, agent):
    answer = browser.post("/agents/desk/connect/test/", {"tool": "send_mail"})
    assert answer.status_code == 422
    assert "send_mail is not one of the available choices" in answer.content.decode()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"arguments": "{"}, "This is not JSON."),
        ({"arguments": "[1]"}, "Write an object"),
        ({"token": "two words"}, "This is no token."),
    ],
)
def test_a_test_that_cannot_be_made_is_refused_with_the_reason(browser, agent, given, said):
    answer = browser.post("/agents/desk/connect/test/", given, headers={"HX-Request": "true"})
    assert answer.status_code == 422
    shown = answer.content.decode()
    assert said in shown.replace("&quot;", '"') and "<html" not in shown
    assert "two words" not in shown


def test_rest_has_the_same_settings_without_a_token(client, alice, agent):
    token = token_create(alice, name="x")[1]
    answer = client.get(
        "/api/v1/agents/desk/connect/", headers={"Authorization": f"Bearer {token}"}
    )
    told = answer.json()
    assert told["url"] == "http://testserver/mcp/agents/desk"
    assert told["placeholder"] in answer.content.decode() and "oft_" not in answer.content.decode()
    cursor = next(each for each in told["clients"] if each["key"] == "cursor")
    assert json.loads(cursor["snippets"][0]["text"])["mcpServers"]["desk"]["url"] == told["url"]
    assert client.get("/api/v1/connect/").status_code == 401


def test_rest_refuses_a_token_without_the_scope_and_somebody_elses_agent(client, alice, agent):
    def asked(user, path, *scopes):
        token = token_create(user, name="x", scopes=scopes)[1]
        return client.get(path, headers={"Authorization": f"Bearer {token}"}).status_code

    assert asked(alice, "/api/v1/agents/desk/connect/", "tools:read") == 403
    assert asked(alice, "/api/v1/agents/desk/connect/", "agents:read") == 200
    assert asked(alice, "/api/v1/connect/", "agents:read") == 403
    assert asked(make_user("eve"), "/api/v1/agents/desk/connect/", "agents:read") == 404


def test_rest_changes_what_clients_are_told_of(client, alice, agent):
    client.force_login(alice)
    answer = client.patch(
        "/api/v1/agents/desk/", {"mcpTools": "progressive"}, content_type="application/json"
    )
    assert answer.json()["mcpTools"] == "progressive"
    wrong = client.patch(
        "/api/v1/agents/desk/", {"mcpTools": "few"}, content_type="application/json"
    )
    assert wrong.status_code == 400
