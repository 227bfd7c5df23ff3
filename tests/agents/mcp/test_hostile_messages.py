"""What no client should send is refused as what it is, and never ends as an error of the server."""

import pytest

from tests.agents.mcp.site import post, token_for
from tests.factories import make_agent, make_builtin, make_user

UNREAL = ["\0", "\ud800", "current_time\0"]


@pytest.mark.parametrize("name", UNREAL)
def test_a_name_that_no_tool_can_have_is_unknown(site, name):
    alice = make_user()
    make_agent(alice, slug="helper")
    for path in ("/mcp", "/mcp/agents/helper"):
        call = {"name": name, "arguments": {}}
        told = {"Mcp-Name": "no header can say it"}
        answer = post(f"{site}{path}", token_for(alice), "tools/call", call, **told)
        assert answer.status_code == 400, answer.text
        assert answer.json()["error"]["code"] in (-32602, -32020)


@pytest.mark.parametrize("name", UNREAL)
@pytest.mark.parametrize("meta", ["call_tool", "describe_tool"])
def test_a_name_that_no_tool_can_have_is_not_found_either(site, meta, name):
    make_builtin("current_time")
    answer = post(
        f"{site}/mcp?discovery=progressive",
        token_for(make_user()),
        "tools/call",
        {"name": meta, "arguments": {"name": name}},
    )
    told = answer.json()["result"]
    assert told["isError"] and told["_meta"]["outfitter/error"]["code"] == "unknown_tool"


def test_a_slug_that_no_agent_can_have_is_not_there(site):
    answer = post(f"{site}/mcp/agents/a%00b", token_for(make_user()), "tools/list")
    assert answer.status_code == 404
    assert "There is no agent" in answer.json()["error"]["message"]


def test_a_message_that_is_nested_too_deeply_is_refused(site):
    make_builtin("current_time")
    deep: dict[str, object] = {}
    for _ in range(120):
        deep = {"a": deep}
    call = {"name": "current_time", "arguments": deep}
    answer = post(f"{site}/mcp", token_for(make_user()), "tools/call", call)
    assert answer.status_code == 400
    told = answer.json()["error"]["data"]
    assert told["code"] == "message_too_deep"
    assert told["message"] == "The request is nested too deeply."
