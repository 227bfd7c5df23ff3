"""Clients with small windows find, read and call tools by four others."""

import pytest

from agents.models import AgentTool, ApprovalRule
from registry.models import Invocation
from tests.agents.mcp.site import ALL, MODERN, token_for, using
from tests.agents.mcp.test_asking import YES, Person
from tests.factories import make_agent, make_builtin, make_run_code, make_tool, make_user

FOUR = ["search_tools", "describe_tool", "call_tool", "run_code"]


@pytest.fixture
def alice(site):
    return make_user("alice")


@pytest.fixture
def catalogue(alice):
    make_run_code()
    names = ("calculator", "count_text", "current_time")
    return {name: make_builtin(name) for name in names}


@pytest.fixture
def helper(alice, catalogue):
    """An agent with one linked tool, which may find others and run programs."""
    return make_agent(
        alice,
        catalogue["calculator"],
        slug="helper",
        mcp_tools="progressive",
        code_execution=True,
        discovery_mode="filter",
    )


def names_at(site, path, user, version=MODERN):
    async def use(client):
        return [tool.name for tool in (await client.list_tools()).tools]

    return using(f"{site}{path}", token_for(user), use, version=version)


def call(site, path, user, name, arguments, *, version=MODERN, scopes=(), **options):
    async def use(client):
        return await client.call_tool(name, arguments)

    url, token = f"{site}{path}", token_for(user, *scopes)
    return using(url, token, use, version=version, **options)


HELPER, HERE = "/mcp/agents/helper", "/mcp?discovery=progressive"


@pytest.mark.parametrize("version", ALL)
def test_a_progressive_address_lists_the_four_alone(site, alice, helper, version):
    assert names_at(site, HELPER, alice, version) == FOUR
    assert names_at(site, HERE, alice, version) == FOUR


def test_an_address_with_all_tools_lists_only_the_running_of_code_of_them(site, alice, helper):
    assert names_at(site, "/mcp", alice) == ["run_code", "calculator", "count_text", "current_time"]
    assert names_at(site, f"{HELPER}?discovery=all", alice) == ["run_code", "calculator"]
    helper.code_execution = False
    helper.save()
    assert names_at(site, f"{HELPER}?discovery=all", alice) == ["calculator"]
    assert names_at(site, HELPER, alice) == FOUR[:3]


def test_the_meta_tools_are_none_where_all_tools_are_listed(site, alice, helper):
    with pytest.raises(Exception, match="Unknown tool: search_tools"):
        call(site, "/mcp", alice, "search_tools", {"need": "the time"})
    helper.code_execution = False
    helper.save()
    with pytest.raises(Exception, match="Unknown tool: run_code"):
        call(site, HELPER, alice, "run_code", {"code": "1"})


def test_the_instructions_say_how_to_use_the_address(site, alice, helper):
    async def use(client):
        return client.instructions

    for version in (MODERN, "2025-06-18"):
        url = f"{site}{HELPER}"
        assert "search_tools" in using(url, token_for(alice), use, version=version)
        assert "search_tools" not in using(f"{site}/mcp", token_for(alice), use, version=version)


@pytest.mark.parametrize("path", [HELPER, HERE])
def test_a_search_tells_names_titles_descriptions_and_why(site, alice, helper, path):
    found = call(site, path, alice, "search_tools", {"need": "what time is it in Tokyo"})
    (first, *_) = found.structured_content["tools"]
    assert first["name"] == "current_time"
    assert first["description"]
    assert first["title"]
    assert first["why"]
    assert "call_tool" in found.structured_content["note"]


def test_a_search_takes_names_and_patterns_too(site, alice, helper):
    by_name = call(site, HERE, alice, "search_tools", {"names": ["count_text"]})
    assert [tool["name"] for tool in by_name.structured_content["tools"]] == ["count_text"]
    by_pattern = call(site, HERE, alice, "search_tools", {"pattern": "^calc"})
    assert [tool["name"] for tool in by_pattern.structured_content["tools"]] == ["calculator"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "say what the tool must be able to do"),
        ({"need": "x", "limit": 99}, "limit"),
        ({"pattern": "("}, "pattern"),
        ({"nead": "x"}, "nead"),
    ],
)
def test_a_search_that_asks_for_nothing_is_told_what_is_wrong(site, alice, helper, arguments, told):
    answer = call(site, HERE, alice, "search_tools", arguments)
    assert answer.is_error
    assert told in answer.content[0].text


def test_an_agent_that_keeps_to_its_links_finds_and_calls_only_those(site, alice, helper):
    helper.discovery_mode = "linked"
    helper.save()
    found = call(site, HELPER, alice, "search_tools", {"queries": ["the time", "calculate sums"]})
    assert [tool["name"] for tool in found.structured_content["tools"]] == ["calculator"]
    refused = call(site, HELPER, alice, "call_tool", {"name": "current_time"})
    assert refused.is_error
    assert "no tool named “current_time”" in refused.content[0].text


def test_what_an_agent_denies_is_neither_found_nor_called(site, alice, helper):
    ApprovalRule.objects.create(agent=helper, effect="deny", pattern="current_time")
    found = call(site, HELPER, alice, "search_tools", {"need": "what time is it in Tokyo"})
    assert "current_time" not in [tool["name"] for tool in found.structured_content["tools"]]
    assert call(site, HELPER, alice, "call_tool", {"name": "current_time"}).is_error


def test_a_link_is_found_by_the_name_that_it_gives(site, alice, helper):
    AgentTool.objects.filter(agent=helper).update(name_override="sums")
    found = call(site, HELPER, alice, "search_tools", {"names": ["sums"]})
    assert [tool["name"] for tool in found.structured_content["tools"]] == ["sums"]
    arguments = {"name": "sums", "arguments": {"expression": "6*7"}}
    assert "42" in call(site, HELPER, alice, "call_tool", arguments).content[0].text


def test_what_others_may_not_use_is_not_found(site, alice, helper):
    make_tool(wire_name="secret_plan", owner=make_user("bob"), visibility="private")
    found = call(site, HERE, alice, "search_tools", {"names": ["secret_plan"]})
    assert found.structured_content["tools"] == []
    assert call(site, HERE, alice, "describe_tool", {"name": "secret_plan"}).is_error


@pytest.mark.parametrize("path", [HELPER, HERE])
def test_a_description_has_schemas_annotations_guidance_and_needs(site, alice, helper, path):
    told = call(site, path, alice, "describe_tool", {"name": "calculator"}).structured_content
    assert told["inputSchema"]["required"] == ["expression"]
    assert told["annotations"]["readOnlyHint"] is True
    assert told["variables"] == []
    assert (told["scopes"], told["missingScopes"]) == ([], [])
    assert "guidance" in told


def test_a_scope_that_the_token_lacks_is_told_and_holds_the_call_back(site, alice, catalogue):
    catalogue["calculator"].required_scopes = ["sums:do"]
    catalogue["calculator"].save()
    scopes = ("tools:read", "tools:run")
    told = call(site, HERE, alice, "describe_tool", {"name": "calculator"}, scopes=scopes)
    assert told.structured_content["missingScopes"] == ["sums:do"]
    arguments = {"name": "calculator", "arguments": {"expression": "1"}}
    refused = call(site, HERE, alice, "call_tool", arguments, scopes=scopes)
    assert "requires the scope sums:do" in refused.content[0].text
    found = call(site, HERE, alice, "search_tools", {"names": ["calculator"]}, scopes=scopes)
    assert found.structured_content["tools"] == []


@pytest.mark.parametrize("version", ALL)
def test_a_call_through_call_tool_is_the_call_itself(site, alice, helper, version):
    arguments = {"name": "calculator", "arguments": {"expression": "6*7"}}
    through = call(site, HERE, alice, "call_tool", arguments, version=version)
    direct = call(site, "/mcp", alice, "calculator", arguments["arguments"], version=version)
    assert through.content == direct.content
    assert through.structured_content == direct.structured_content
    wrong = {"name": "calculator", "arguments": {"expresion": "6*7"}}
    through = call(site, HERE, alice, "call_tool", wrong, version=version)
    direct = call(site, "/mcp", alice, "calculator", wrong["arguments"], version=version)
    assert through.is_error
    assert through.content == direct.content


def test_a_name_that_comes_near_is_told(site, alice, helper):
    answer = call(site, HERE, alice, "call_tool", {"name": "calculater"})
    assert "Did you mean calculator" in answer.content[0].text
    assert not Invocation.objects.exists()


@pytest.mark.parametrize("version", [MODERN, "2025-06-18"])
def test_a_call_through_call_tool_asks_a_person_too(site, alice, helper, version):
    AgentTool.objects.filter(agent=helper).update(approval="ask")
    arguments = {"name": "calculator", "arguments": {"expression": "6*7"}}
    person = Person(YES)
    answer = call(
        site, HELPER, alice, "call_tool", arguments, version=version, elicitation_callback=person
    )
    assert "42" in answer.content[0].text
    assert Invocation.objects.get().decision == "approved"


@pytest.mark.parametrize("path", [HELPER, HERE])
def test_a_program_calls_the_tools_of_its_address(site, alice, helper, sandbox_service, path):
    code = 'r = await tool_call("calculator", expression="6*7")\nr'
    answer = call(site, path, alice, "run_code", {"code": code})
    assert not answer.is_error, answer.content
    assert "42" in str(answer.structured_content["result"])
    inner = Invocation.objects.get(tool__wire_name="calculator")
    assert inner.parent_id == Invocation.objects.get(tool__wire_name="run_code").pk


def test_a_program_of_an_agent_that_keeps_to_its_links_calls_no_other(
    site, alice, helper, sandbox_service
):
    helper.discovery_mode = "linked"
    helper.save()
    answer = call(site, HELPER, alice, "run_code", {"code": 'await tool_call("current_time")'})
    assert answer.is_error
    assert not Invocation.objects.filter(tool__wire_name="current_time").exists()
