"""What `tools/list` tells, in every protocol revision."""

from datetime import date

import pytest

from agents.models import AgentTool
from registry.models import Tool
from registry.models.package import ReviewStatus
from registry.services import tool_delete
from tests.agents.mcp.site import ALL, MODERN, post, token_for, using
from tests.factories import make_agent, make_builtin, make_package, make_tool, make_user


async def names(client):
    return [tool.name for tool in (await client.list_tools()).tools]


@pytest.mark.parametrize("version", ALL)
def test_a_client_of_each_revision_lists_and_calls_a_tool(site, version):
    alice = make_user("alice")
    make_builtin("calculator")

    async def use(client):
        listed = await client.list_tools()
        answer = await client.call_tool("calculator", {"expression": "6*7"})
        return listed, answer, client.server_info, client.instructions

    listed, answer, info, instructions = using(
        f"{site}/mcp", token_for(alice), use, version=version
    )

    assert [tool.name for tool in listed.tools] == ["calculator"]
    assert not answer.is_error
    assert answer.structured_content["result"] == 42
    assert (info.name, info.title) == ("outfitter", "Outfitter")
    assert "error" in instructions


def test_a_tool_is_told_with_all_that_is_known_of_it(site):
    alice = make_user("alice")
    schema = {
        "type": "object",
        "properties": {"place": {"$ref": "#/$defs/place"}},
        "$defs": {"place": {"type": "string", "minLength": 1}},
        "unevaluatedProperties": False,
    }
    make_tool(
        wire_name="weather",
        title="Weather",
        input_schema=schema,
        output_schema={"type": "array", "items": {"type": "number"}},
        required_scopes=["sky:see"],
        deprecated_on=date(2020, 1, 2),
    )

    for version in ALL:
        (tool,) = using(f"{site}/mcp", token_for(alice), _tools, version=version)
        row = Tool.objects.get()
        assert (tool.name, tool.title) == ("weather", "Weather")
        assert tool.description.endswith("Deprecated since 2 Jan 2020.")
        assert tool.input_schema == schema
        assert tool.annotations.read_only_hint is False
        assert tool.annotations.open_world_hint is False
        assert tool.meta["outfitter/tool"] == str(row.pk)
        assert tool.meta["outfitter/version"] == row.version
        assert tool.meta["outfitter/kind"] == "npm"
        assert tool.meta["outfitter/scopes"] == ["sky:see"]
        # before 2026-07-28 an output schema could only be that of an object
        assert (tool.output_schema is not None) == (version == MODERN)


async def _tools(client):
    return (await client.list_tools()).tools


def test_a_schema_that_says_nothing_is_told_as_one_of_an_object(site):
    make_tool(input_schema={})
    (tool,) = using(f"{site}/mcp", token_for(make_user()), _tools, version="2025-06-18")
    assert tool.input_schema == {"type": "object", "properties": {}}


def test_only_what_the_person_may_call_is_listed(site):
    alice = make_user("alice")
    other = make_user("other")
    make_tool(wire_name="approved")
    make_tool(wire_name="own", owner=alice, visibility="private")
    make_tool(wire_name="foreign", owner=other, visibility="private")
    make_tool(wire_name="waiting", review_status=ReviewStatus.CANDIDATE)
    make_tool(wire_name="refused", review_status=ReviewStatus.REJECTED)
    make_tool(wire_name="bad_package", package=make_package(review_status=ReviewStatus.REJECTED))
    tool_delete(make_tool(wire_name="deleted"))

    assert using(f"{site}/mcp", token_for(alice), names) == ["approved", "own"]


def test_a_token_sees_only_tools_whose_scopes_it_has(site):
    alice = make_user("alice")
    make_tool(wire_name="free")
    make_tool(wire_name="mailing", required_scopes=["mail:send"])
    make_tool(wire_name="paying", required_scopes=["mail:send", "money:send"])

    token = token_for(alice, "tools:read", "mail:send")

    assert using(f"{site}/mcp", token, names) == ["free", "mailing"]
    assert using(f"{site}/mcp", token_for(alice), names) == ["free", "mailing", "paying"]


def test_a_change_is_seen_by_the_next_request(site):
    alice = make_user("alice")
    tool = make_tool(wire_name="first")
    token = token_for(alice)

    assert using(f"{site}/mcp", token, names) == ["first"]
    make_tool(wire_name="another")
    Tool.objects.filter(pk=tool.pk).update(wire_name="renamed")
    assert using(f"{site}/mcp", token, names) == ["another", "renamed"]


def test_an_agent_lists_its_toolset_under_its_own_names(site):
    alice = make_user("alice")
    linked, denied = make_tool(wire_name="linked"), make_tool(wire_name="denied")
    make_tool(wire_name="not_linked")
    needs = make_tool(wire_name="needs", required_scopes=["mail:send"])
    agent = make_agent(alice, linked, denied, needs, slug="helper")
    AgentTool.objects.filter(tool=linked).update(
        name_override="do_it", description_override="Does it."
    )
    AgentTool.objects.filter(tool=denied).update(approval="deny")

    (tool,) = using(f"{site}/mcp/agents/helper", token_for(alice), _tools)
    assert (tool.name, tool.description) == ("do_it", "Does it.")

    agent.scopes = ["mail:send"]
    agent.save()
    listed = using(f"{site}/mcp/agents/helper", token_for(alice), names)
    assert listed == ["do_it", "needs"]
    narrow = token_for(alice, "tools:read")
    assert using(f"{site}/mcp/agents/helper", narrow, names) == ["do_it"]


def test_pages_follow_each_other_in_one_order(site, monkeypatch):
    monkeypatch.setattr("agents.mcp.endpoint.PAGE", 2)
    alice = make_user("alice")
    for name in ("b", "B", "_a", "a", "a_b"):
        make_tool(wire_name=name)

    async def pages(client):
        found, cursor = [], None
        while True:
            page = await client.list_tools(cursor=cursor, cache_mode="bypass")
            found.append([tool.name for tool in page.tools])
            cursor = page.next_cursor
            if cursor is None:
                return found

    token = token_for(alice)
    found = using(f"{site}/mcp", token, pages)
    assert [len(page) for page in found] == [2, 2, 1]
    assert sorted(name for page in found for name in page) == ["B", "_a", "a", "a_b", "b"]
    assert using(f"{site}/mcp", token, pages) == found


@pytest.mark.parametrize("cursor", ["!", "", "AA==", "/w==", "x" * 5000])
def test_a_cursor_that_was_not_given_out_is_refused(site, cursor):
    token = token_for(make_user())
    answer = post(f"{site}/mcp", token, "tools/list", {"cursor": cursor})
    if not cursor:
        assert answer.status_code == 200
        return
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == -32602
    assert "Begin the list anew" in answer.json()["error"]["message"]


def test_a_list_is_for_its_reader_alone(site):
    answer = post(f"{site}/mcp", token_for(make_user()), "tools/list")
    assert answer.json()["result"]["cacheScope"] == "private"
    assert answer.json()["result"]["ttlMs"] == 0


def test_two_tools_of_one_name_are_told_to_whoever_asks(site):
    alice = make_user("alice")
    one, two = make_tool(wire_name="one"), make_tool(wire_name="two")
    make_agent(alice, one, two, slug="helper")
    AgentTool.objects.filter(tool=one).update(name_override="two")
    answer = post(f"{site}/mcp/agents/helper", token_for(alice), "tools/list")
    assert "names both" in answer.json()["error"]["message"]


@pytest.mark.parametrize("pinned", [None, 1])
def test_a_scope_that_a_tool_comes_to_require_takes_it_from_an_agents_list_at_once(site, pinned):
    alice = make_user("alice")
    tool = make_tool(wire_name="weather")
    agent = make_agent(alice, slug="helper", scopes=["news:read"])
    AgentTool.objects.create(agent=agent, tool=tool, pinned_version=pinned)
    url, token = f"{site}/mcp/agents/helper", token_for(alice)
    assert using(url, token, names) == ["weather"]

    Tool.objects.update(required_scopes=["sky:see"])
    assert using(url, token, names) == []
    answer = post(url, token, "tools/call", {"name": "weather", "arguments": {}})
    assert "Unknown tool: weather" in answer.json()["error"]["message"]

    agent.scopes = ["sky:see"]
    agent.save()
    assert using(url, token, names) == ["weather"]


def test_a_client_is_told_the_scopes_that_a_tool_requires_now(site):
    make_tool(wire_name="weather", required_scopes=["sky:guess"])
    token = token_for(make_user("alice"), "tools:run", "sky:guess")
    Tool.objects.update(required_scopes=["sky:see"])

    answer = post(f"{site}/mcp", token, "tools/call", {"name": "weather", "arguments": {}})
    assert answer.status_code == 403
    assert answer.json()["error"]["data"]["extra"]["scopes"] == ["sky:see", "tools:run"]
