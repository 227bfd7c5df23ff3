"""Who is let in, and how everybody else is answered."""

import re
from contextlib import ExitStack

import httpx
import pytest
from django.test import override_settings

from agents.mcp.requests import LARGEST_BODY
from agents.models import ApiToken
from tests.agents.mcp.site import MODERN, post, served, token_for
from tests.factories import make_agent, make_team, make_tool, make_user

ASKED = re.compile(r'(\w+)="([^"]*)"')


def challenge(answer):
    told = answer.headers["www-authenticate"]
    assert told.startswith("Bearer ")
    return dict(ASKED.findall(told))


@pytest.fixture
def session(site):
    """Return a function that begins a session by hand; its client keeps the id, and is closed."""
    with ExitStack() as opened:

        def begin(token: str, version: str = "2025-06-18") -> httpx.Client:
            headers = {
                "Authorization": f"Bearer {token}",
                "Accept": "application/json, text/event-stream",
                "MCP-Protocol-Version": version,
            }
            http = opened.enter_context(httpx.Client(base_url=site, timeout=30, headers=headers))
            hello = {
                "protocolVersion": version,
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            }
            answer = http.post("/mcp", json=request("initialize", hello))
            assert answer.status_code == 200, answer.text
            http.headers["Mcp-Session-Id"] = answer.headers["mcp-session-id"]
            http.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"})
            return http

        yield begin


def test_without_a_token_a_client_is_told_where_to_get_one(site):
    answer = post(f"{site}/mcp", "", "tools/list")
    assert answer.status_code == 401
    told = challenge(answer)
    assert told["resource_metadata"] == f"{site}/.well-known/oauth-protected-resource/mcp"
    assert "error" not in told
    assert told["scope"] == "tools:read tools:run"


@pytest.mark.parametrize("token", ["oft_unknown", "nonsense", "x" * 8000])
def test_a_token_that_is_not_known_is_refused(site, token):
    make_agent(make_user(), slug="helper")
    answer = post(f"{site}/mcp/agents/helper", token, "tools/list")
    assert answer.status_code == 401
    told = challenge(answer)
    assert told["error"] == "invalid_token"
    metadata = f"{site}/.well-known/oauth-protected-resource/mcp/agents/helper"
    assert told["resource_metadata"] == metadata


@pytest.mark.parametrize(
    ("method", "needed", "held"),
    [("tools/list", "tools:read", "chat"), ("tools/call", "tools:run", "tools:read")],
)
def test_a_token_without_our_scope_is_told_which_it_needs(site, method, needed, held):
    make_tool(wire_name="some")
    params = {"name": "some", "arguments": {}} if method == "tools/call" else {}
    answer = post(f"{site}/mcp", token_for(make_user(), held), method, params)
    assert answer.status_code == 403
    told = challenge(answer)
    assert (told["error"], told["scope"]) == ("insufficient_scope", needed)


def test_a_tool_whose_scopes_are_missing_says_all_that_it_needs(site):
    make_tool(wire_name="mailing", required_scopes=["mail:send", "mail:read"])
    token = token_for(make_user(), "tools:run", "mail:read")
    arguments = {"name": "mailing", "arguments": {"text": "x"}}
    answer = post(f"{site}/mcp", token, "tools/call", arguments)
    assert answer.status_code == 403
    assert challenge(answer)["scope"] == "mail:read mail:send tools:run"


def test_a_step_up_is_asked_for_in_a_session_too(session):
    make_tool(wire_name="mailing", required_scopes=["mail:send"])
    token = token_for(make_user(), "tools:run", "tools:read")
    http = session(token)
    call = {"name": "mailing", "arguments": {"text": "x"}}
    answer = http.post("/mcp", json=request("tools/call", call))
    assert answer.status_code == 403
    assert challenge(answer)["scope"] == "mail:send tools:run"


def test_a_tool_of_somebody_else_is_no_tool(site):
    make_tool(wire_name="private", owner=make_user(), visibility="private")
    token = token_for(make_user())
    answers = [
        post(f"{site}/mcp", token, "tools/call", {"name": name, "arguments": {}})
        for name in ("private", "nothing")
    ]
    assert [answer.status_code for answer in answers] == [400, 400]
    told = [answer.json()["error"] for answer in answers]
    assert told[0] == {"code": -32602, "message": "Unknown tool: private"}
    assert told[1] == {"code": -32602, "message": "Unknown tool: nothing"}


def test_an_agent_that_one_may_not_see_is_not_there(site):
    owner, mate, stranger = make_user(), make_user(), make_user()
    team = make_team("", mate)
    make_agent(owner, slug="shared", team=team, visibility="team")
    assert post(f"{site}/mcp/agents/shared", token_for(mate), "tools/list").status_code == 200
    for slug in ("shared", "nobody"):
        answer = post(f"{site}/mcp/agents/{slug}", token_for(stranger), "tools/list")
        assert answer.status_code == 404
        assert f"There is no agent “{slug}”" in answer.json()["error"]["message"]


def test_a_session_is_of_no_use_with_another_token_or_at_another_address(session):
    alice = make_user()
    make_agent(alice, slug="helper")
    mine, other = session(token_for(alice)), token_for(alice)
    listing = request("tools/list")
    assert mine.post("/mcp", json=listing).status_code == 200
    assert mine.post("/mcp/agents/helper", json=listing).status_code == 404
    foreign = mine.post("/mcp", json=listing, headers={"Authorization": f"Bearer {other}"})
    assert foreign.status_code == 404


def test_a_token_that_is_gone_ends_its_session_at_the_next_request(session):
    http = session(token_for(make_user()))
    assert http.post("/mcp", json=request("tools/list")).status_code == 200
    ApiToken.objects.all().delete()
    answer = http.post("/mcp", json=request("tools/list"))
    assert answer.status_code == 401
    assert challenge(answer)["error"] == "invalid_token"


def test_a_session_that_is_not_known_is_begun_anew(session):
    http = session(token_for(make_user()))
    http.headers["Mcp-Session-Id"] = "0" * 32
    assert http.post("/mcp", json=request("tools/list")).status_code == 404


def test_a_session_ends_when_its_client_says_so(session):
    http = session(token_for(make_user()))
    assert http.delete("/mcp").status_code == 200
    assert http.post("/mcp", json=request("tools/list")).status_code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b"null", 400),
        (b"[" * 100_000, 400),
        (b'{"jsonrpc":"2.0","id":{},"method":"tools/list"}', 400),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', 400),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}', 400),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', 400),
        (b"\xff\xfe", 400),
    ],
)
def test_a_body_that_is_no_message_is_refused(site, body, status):
    token = token_for(make_user())
    for version in (MODERN, "2025-06-18"):
        answer = httpx.post(
            f"{site}/mcp",
            content=body,
            headers={
                "Authorization": f"Bearer {token}",
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
                "MCP-Protocol-Version": version,
                "Mcp-Method": "tools/list",
            },
            timeout=30,
        )
        assert answer.status_code == status, (version, answer.text)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Mcp-Method": "tools/call"}, 400),
        ({"Mcp-Name": "other"}, 400),
        ({"MCP-Protocol-Version": "2099-01-01"}, 400),
        ({"Content-Type": "text/plain"}, 400),
        ({"Accept": "text/html"}, 406),
    ],
)
def test_headers_that_do_not_fit_the_message_are_refused(site, headers, status):
    make_tool(wire_name="some")
    params = {"name": "some", "arguments": {"text": "x"}}
    method = "tools/list" if "Mcp-Method" in headers else "tools/call"
    params = {} if method == "tools/list" else params
    answer = post(f"{site}/mcp", token_for(make_user()), method, params, **headers)
    assert answer.status_code == status, answer.text


def test_a_body_that_is_too_large_is_refused_before_it_is_read(site):
    token = token_for(make_user())
    answer = post(f"{site}/mcp", token, "tools/list", {"cursor": "x" * LARGEST_BODY})
    assert answer.status_code == 413
    parts = (b"x" * 100_000 for _ in range(LARGEST_BODY // 100_000 + 2))
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    assert httpx.post(f"{site}/mcp", content=parts, headers=headers, timeout=30).status_code == 413


def test_a_name_that_was_made_to_lead_here_is_refused(site):
    token = token_for(make_user())
    assert post(f"{site}/mcp", token, "tools/list", Host="evil.example").status_code == 421
    answer = post(f"{site}/mcp", token, "tools/list", Origin="https://evil.example")
    assert answer.status_code == 403
    assert post(f"{site}/mcp", token, "tools/list", Origin=site).status_code == 200


def test_pages_of_an_allowed_origin_may_call(transactional_db):
    page = "https://inspector.example"
    with override_settings(MCP_ORIGINS=[page]), served((page,)) as url:
        token = token_for(make_user())
        answer = post(f"{url}/mcp", token, "tools/list", Origin=page)
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == page
        assert "Mcp-Session-Id" in answer.headers["access-control-expose-headers"]
        asks = {
            "Origin": page,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization, mcp-method",
        }
        before = httpx.options(f"{url}/mcp", headers=asks, timeout=30)
        assert before.status_code == 200
        assert "mcp-method" in before.headers["access-control-allow-headers"].lower()


def test_what_discovery_may_say(site):
    token = token_for(make_user())
    assert post(f"{site}/mcp?discovery=all", token, "tools/list").status_code == 200
    answer = post(f"{site}/mcp?discovery=some", token, "tools/list")
    assert answer.status_code == 400
    assert "progressive" in answer.json()["error"]["message"]


def test_each_answer_names_its_request(site):
    for token in ("", token_for(make_user())):
        answer = post(f"{site}/mcp", token, "tools/list")
        assert len(answer.headers["x-request-id"]) == 36


def test_what_there_is_can_be_discovered(site):
    answer = post(f"{site}/mcp", token_for(make_user()), "server/discover")
    result = answer.json()["result"]
    assert result["supportedVersions"] == [MODERN]
    assert "tools" in result["capabilities"]


def request(method: str, params: dict | None = None) -> dict:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
