"""Tools that nobody linked: found for the message, or by the model in the middle of its turn."""

import pytest

from agents.models import AgentTool
from agents.models.agent import DiscoveryMode
from chat.models.message import Role
from registry.models import Tool
from tests import factories
from tests.fakes.model_server import MODEL, Call

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def catalogue(db) -> dict[str, Tool]:
    return {name: factories.make_builtin(name) for name in ("calculator", "current_time")}


def results_of(turn):
    return [m.result for m in turn.messages.filter(role=Role.TOOL).order_by("position")]


def test_a_tool_nobody_linked_is_found_injected_and_called(alice, model, say, catalogue):
    conversation = factories.make_conversation(alice, factories.make_agent(alice, model=MODEL))
    model.calls(Call("current_time", {"timezone": "Asia/Tokyo"}))
    model.enqueue("It is late.")
    turn = say(conversation, "What time is it in Tokyo?")
    assert "current_time" in model.tools_offered(0)
    assert "search_tools" in model.tools_offered(0)
    entry = next(tool for tool in turn.found["tools"] if tool["name"] == "current_time")
    assert entry["injected"] is True
    assert 0 < entry["score"] <= 1
    assert results_of(turn)[0]["output"]["timezone"] == "Asia/Tokyo"


def test_small_talk_injects_nothing(alice, model, say, catalogue):
    conversation = factories.make_conversation(alice, factories.make_agent(alice, model=MODEL))
    model.enqueue("Hello.")
    turn = say(conversation, "hello")
    assert model.tools_offered(0) == ["search_tools", "ask_user"]
    assert not [tool for tool in turn.found["tools"] if tool["injected"]]


def test_what_search_tools_finds_can_be_called_in_the_next_step(alice, model, say, catalogue):
    conversation = factories.make_conversation(alice, factories.make_agent(alice, model=MODEL))
    model.calls(Call("search_tools", {"need": "calculate arithmetic expressions"}))
    model.calls(Call("calculator", {"expression": "6*7"}))
    model.enqueue("42.")
    turn = say(conversation, "hello")
    assert "calculator" not in model.tools_offered(0)
    assert "calculator" in model.tools_offered(1)
    searched, computed = results_of(turn)
    assert searched["output"]["tools"][0]["name"] == "calculator"
    assert searched["details"]["found"]["tools"][0]["injected"] is True
    assert computed["output"]["result"] == 42
    assert turn.events.filter(name="tools.found").count() == 2


def test_the_same_need_searched_twice_is_answered_with_what_was_found(alice, model, say, catalogue):
    conversation = factories.make_conversation(alice, factories.make_agent(alice, model=MODEL))
    model.calls(Call("search_tools", {"need": "calculate arithmetic"}))
    model.calls(Call("search_tools", {"need": "arithmetic, calculate!"}))
    model.enqueue("Enough.")
    turn = say(conversation, "hello")
    again = results_of(turn)[1]["output"]
    assert again["tools"] == []
    assert "calculator" in again["note"]
    assert "Stop searching" in again["note"]


def test_search_tools_without_a_need_is_told_what_is_wrong(alice, model, say, catalogue):
    conversation = factories.make_conversation(alice, factories.make_agent(alice, model=MODEL))
    model.calls(Call("search_tools", {}))
    model.enqueue("Sorry.")
    assert results_of(say(conversation, "hello"))[0]["error"]["code"] == "invalid_arguments"


def searched(say, model, alice, arguments, message="hello"):
    """Have the model search; return what it was answered and what a person sees."""
    conversation = factories.make_conversation(alice, factories.make_agent(alice, model=MODEL))
    model.calls(Call("search_tools", arguments))
    model.enqueue("Done.")
    (result,) = results_of(say(conversation, message))
    return result


def test_a_model_that_knows_the_name_gets_the_tool_of_that_name(alice, model, say, catalogue):
    result = searched(say, model, alice, {"names": ["Current-Time", "nothing"]})
    (tool,) = result["output"]["tools"]
    assert tool["name"] == "current_time"
    assert tool["description"] and tool["why"] == "is called Current-Time"
    assert result["details"]["found"]["mode"] == "exact"
    assert "current_time" in model.tools_offered(1)


def test_a_pattern_finds_tools_by_name_and_description(alice, model, say, catalogue):
    result = searched(say, model, alice, {"pattern": "^current|ARITHMETIC"})
    found = {tool["name"]: tool["why"] for tool in result["output"]["tools"]}
    assert found["current_time"] == "its name matches"
    assert found["calculator"].endswith("matches")
    assert result["details"]["found"]["mode"] == "regex"


def test_several_needs_find_a_tool_for_each(alice, model, say, catalogue):
    needs = ["a tool that tells the time in a time zone", "a tool that calculates arithmetic"]
    result = searched(say, model, alice, {"queries": needs})
    tools = {tool["name"]: tool["why"] for tool in result["output"]["tools"]}
    assert set(tools) == {"current_time", "calculator"}
    assert "time" in tools["current_time"]


def test_names_a_pattern_and_a_need_together_find_each_tool_once(alice, model, say, catalogue):
    wanted = {"names": ["calculator"], "pattern": "time", "need": "calculate with the time"}
    result = searched(say, model, alice, {**wanted, "limit": 2})
    assert [tool["name"] for tool in result["output"]["tools"]] == ["calculator", "current_time"]
    shown = result["details"]["found"]
    assert shown["mode"] == "exact regex words"
    assert [tool["name"] for tool in shown["tools"]].count("calculator") == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"pattern": "get_("}, "pattern_invalid"),
        ({"pattern": "(a{1000}){1000}"}, "pattern_invalid"),
        ({"queries": []}, "invalid_arguments"),
        ({"need": "  "}, "invalid_arguments"),
        ({"queries": ["x"] * 6}, "invalid_arguments"),
        ({"names": [""]}, "invalid_arguments"),
        ({"need": "x" * 2_001}, "invalid_arguments"),
        ({"pattern": "x" * 1_001}, "invalid_arguments"),
    ],
)
def test_a_search_that_cannot_be_carried_out_is_told_to_the_model(
    alice, model, say, catalogue, arguments, code
):
    result = searched(say, model, alice, arguments)
    assert result["error"]["code"] == code
    assert result["error"]["hint"]


def test_a_pattern_that_takes_too_long_is_told_to_the_model_and_the_person(
    alice, model, say, catalogue
):
    factories.make_tool(description="a" * 300 + " b")
    result = searched(say, model, alice, {"pattern": "(a|aa)+$"})
    assert result["error"]["code"] == "pattern_too_slow"
    assert result["details"]["found"]["error"]["code"] == "pattern_too_slow"


def test_a_tool_that_is_at_hand_is_named_rather_than_said_not_to_exist(
    alice, model, say, catalogue
):
    agent = factories.make_agent(alice, catalogue["calculator"], model=MODEL)
    model.calls(Call("search_tools", {"names": ["calculator"]}))
    model.enqueue("Done.")
    (result,) = results_of(say(factories.make_conversation(alice, agent), "hello"))
    assert result["output"]["tools"] == []
    assert result["output"]["note"] == "You had these before, use them: calculator."


def test_a_search_is_understood_by_what_the_user_said(alice, model, say, catalogue, monkeypatch):
    from registry import finding

    asked = []

    def noted(need, **options):
        asked.append((need, options["recent"]))
        return search(need, **options)

    search = finding.search
    monkeypatch.setattr(finding, "search", noted)
    searched(say, model, alice, {"need": "a tool for it"}, message="Is it late in Tokyo?")
    assert asked[1] == ("a tool for it", ("Is it late in Tokyo?",))


@pytest.mark.parametrize("ways", [{"pattern": "time"}, {"names": ["time"]}])
def test_what_was_searched_in_one_way_may_be_searched_in_another(
    alice, model, say, catalogue, ways
):
    conversation = factories.make_conversation(alice, factories.make_agent(alice, model=MODEL))
    for arguments in ({"need": "time"}, ways, ways):
        model.calls(Call("search_tools", arguments))
    model.enqueue("Enough.")
    _, other, again = results_of(say(conversation, "hello"))
    assert "already" not in other["output"]["note"]
    assert "Stop searching" in again["output"]["note"]


def test_an_agent_that_keeps_to_its_links_neither_finds_nor_searches(alice, model, say, catalogue):
    agent = factories.make_agent(
        alice, catalogue["calculator"], model=MODEL, discovery_mode=DiscoveryMode.LINKED
    )
    model.calls(Call("search_tools", {"need": "the time"}))
    model.enqueue("No.")
    turn = say(factories.make_conversation(alice, agent), "What time is it in Tokyo?")
    assert model.tools_offered(0) == ["ask_user", "calculator"]
    assert results_of(turn)[0]["error"]["code"] == "unknown_tool"


def test_a_found_tool_that_the_agent_denies_is_told_with_the_reason(alice, model, say, catalogue):
    agent = factories.make_agent(alice, catalogue["current_time"], model=MODEL)
    AgentTool.objects.update(approval="deny")
    model.enqueue("I may not.")
    turn = say(factories.make_conversation(alice, agent), "What time is it in Tokyo?")
    entry = next(tool for tool in turn.found["tools"] if tool["name"] == "current_time")
    assert entry["injected"] is False
    assert "deny" in entry["reason"]
    assert "current_time" not in model.tools_offered(0)


def test_a_tool_that_another_person_keeps_private_is_not_found(alice, bob, model, say):
    factories.make_builtin("current_time", owner=bob, visibility="private")
    conversation = factories.make_conversation(alice, factories.make_agent(alice, model=MODEL))
    model.calls(Call("current_time", {}))
    model.enqueue("No.")
    turn = say(conversation, "What time is it in Tokyo?")
    assert "current_time" not in str(turn.found["tools"])
    assert results_of(turn)[0]["error"]["code"] == "unknown_tool"


def test_a_pin_on_a_version_that_is_gone_does_not_fail_the_turn(alice, model, say, catalogue):
    agent = factories.make_agent(alice, *catalogue.values(), model=MODEL)
    AgentTool.objects.filter(tool=catalogue["current_time"]).update(pinned_version=99)
    model.enqueue("Fine.")
    turn = say(factories.make_conversation(alice, agent), "hello")
    assert turn.status == "completed"
    assert "calculator" in model.tools_offered(0)
    assert "no version 99" in turn.found["tools"][0]["reason"]


def test_tools_are_offered_by_their_wire_names_and_named_in_the_prompt(
    alice, model, say, catalogue
):
    tool = factories.make_tool(
        wire_name="acme_scraper-scrapeTool", ai_agent={"useCase": "When a page is to be read."}
    )
    agent = factories.make_agent(alice, tool, model=MODEL, instructions="Be brief.")
    model.enqueue("Yes.")
    say(factories.make_conversation(alice, agent), "hello")
    assert "acme_scraper-scrapeTool" in model.tools_offered(0)
    prompt = model.requests[0]["messages"][0]["content"]
    assert prompt.startswith("Be brief.")
    assert "acme_scraper-scrapeTool: Use it: When a page is to be read." in prompt
    assert "Execute, don't describe" in prompt
    assert "stop searching" in prompt


def test_variables_sent_with_a_message_reach_only_its_conversation(alice, model, say):
    from chat.variables import env_with_variables, variables_remember
    from registry.context import no_env

    one, other = factories.make_conversation(alice), factories.make_conversation(alice)
    variables_remember(one, {"EXA_API_KEY": "first"})
    variables_remember(one, {"EXA_API_KEY": "second", "OTHER": "x"})
    read = env_with_variables(one.pk, no_env)
    assert read(["EXA_API_KEY"]) == {"EXA_API_KEY": "second"}
    assert env_with_variables(other.pk, no_env)(["EXA_API_KEY"]) == {}
