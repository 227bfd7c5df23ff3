"""The four discovery modes, and what is kept from one turn to the next."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from agents.access import agent_context
from agents.models import AgentTool
from agents.models.agent import DiscoveryMode
from chat.budget import tokens_of
from chat.discovered import tools_discovered
from chat.injection import Toolbox
from chat.models import DiscoveredTool
from chat.models.message import Role
from chat.models.turn import TurnStatus
from registry.loading import load_spec
from registry.models import Tool
from registry.models.invocation import Caller
from registry.models.package import ReviewStatus
from tests import factories
from tests.fakes.model_server import MODEL, Call

pytestmark = pytest.mark.django_db(transaction=True)

TOKYO = "What time is it in Tokyo?"


@pytest.fixture
def catalogue(db) -> dict[str, Tool]:
    names = ("calculator", "current_time", "count_text")
    return {name: factories.make_builtin(name) for name in names}


@pytest.fixture
def talk(alice):
    """Return a function that opens a conversation with an agent of a mode, which is given the best
    find alone."""

    def open_one(mode: DiscoveryMode, *tools: Tool, **fields):
        fields = {"max_found_tools": 1, "discovery_mode": mode, **fields}
        agent = factories.make_agent(alice, *tools, model=MODEL, **fields)
        return factories.make_conversation(alice, agent)

    return open_one


def results_of(turn):
    return [m.result for m in turn.messages.filter(role=Role.TOOL).order_by("position")]


def toolbox_of(conversation, turn=None, **fields) -> Toolbox:
    """Put the tools of a turn together as a process does that has just taken it."""
    turn = turn or factories.make_turn(conversation, model=MODEL, **fields)
    agent = conversation.agent
    context = agent_context(agent, conversation.user, caller=Caller.CHAT, turn_id=turn.pk)
    return Toolbox(turn, context)


def names_in(toolbox: Toolbox) -> list[str]:
    return [tool["function"]["name"] for tool in toolbox.schemas()]


def discovered(conversation) -> list[str]:
    rows = DiscoveredTool.objects.filter(conversation=conversation, evicted_at=None)
    return list(rows.order_by("place").values_list("tool__wire_name", flat=True))


def found_by(conversation, message, **fields):
    """Let a turn search first and end; return what it told."""
    turn = factories.make_turn(conversation, model=MODEL, status=TurnStatus.COMPLETED, **fields)
    return toolbox_of(conversation, turn).discover(message)


def test_linked_only_tells_of_the_linked_tools_and_searches_nothing(talk, catalogue):
    toolbox = toolbox_of(talk(DiscoveryMode.LINKED, catalogue["calculator"]))
    found = toolbox.discover(TOKYO)
    assert names_in(toolbox) == ["ask_user", "calculator"]
    assert found["searched"] is False
    assert [(t["name"], t["origin"]) for t in found["visible"]] == [("calculator", "linked")]


def test_auto_searches_first_and_forgets_what_it_found(talk, catalogue):
    conversation = talk(DiscoveryMode.AUTO, catalogue["calculator"])
    found = found_by(conversation, TOKYO)
    told = [(t["name"], t["origin"]) for t in found["visible"]]
    assert told == [("calculator", "linked"), ("current_time", "found")]
    assert names_in(toolbox_of(conversation)) == ["search_tools", "ask_user", "calculator"]


def test_auto_has_what_it_found_again_when_the_turn_is_taken_up_again(talk, catalogue):
    conversation = talk(DiscoveryMode.AUTO)
    turn = factories.make_turn(conversation, model=MODEL)
    first = toolbox_of(conversation, turn)
    turn.found = first.discover(TOKYO)
    turn.save()
    again = toolbox_of(conversation, turn)
    assert json.dumps(again.schemas()) == json.dumps(first.schemas())
    assert again.discover(TOKYO) == turn.found
    assert "current_time" in names_in(again)


def test_filter_tells_of_nothing_but_the_search_until_something_is_found(
    talk, model, say, catalogue
):
    conversation = talk(DiscoveryMode.FILTER, *catalogue.values())
    model.calls(Call("search_tools", {"need": "calculate arithmetic expressions"}))
    model.calls(Call("calculator", {"expression": "6*7"}))
    model.enqueue("42.", "Still here.")
    turn = say(conversation, TOKYO)
    assert model.tools_offered(0) == ["search_tools", "ask_user"]
    assert model.tools_offered(1) == ["search_tools", "ask_user", "calculator"]
    assert results_of(turn)[1]["output"]["result"] == 42
    assert turn.found["searched"] is False
    assert len(turn.found["deferred"]) == 3
    say(conversation, "And now?")
    assert model.tools_offered(3) == ["search_tools", "ask_user", "calculator"]


def test_in_the_filter_a_found_tool_keeps_the_settings_of_its_link(talk, model, say, catalogue):
    tools = catalogue["count_text"], catalogue["calculator"]
    conversation = talk(DiscoveryMode.FILTER, *tools, max_found_tools=5)
    AgentTool.objects.filter(tool=catalogue["calculator"]).update(config={"expression": "1+1"})
    AgentTool.objects.filter(tool=catalogue["count_text"]).update(approval="deny")
    model.calls(Call("search_tools", {"names": ["calculator", "count_text"]}))
    model.calls(Call("calculator", {"expression": "6*7"}))
    model.enqueue("2.")
    searched, computed = results_of(say(conversation, "hello"))
    assert [tool["name"] for tool in searched["output"]["tools"]] == ["calculator"]
    assert computed["output"]["result"] == 2
    entry = next(t for t in searched["details"]["found"]["tools"] if t["name"] == "count_text")
    assert entry["cause"] == "denied"


def test_in_the_filter_a_pinned_version_is_found_at_its_pin(talk, catalogue):
    tool = catalogue["calculator"]
    conversation = talk(DiscoveryMode.FILTER, tool)
    AgentTool.objects.update(pinned_version=99)
    toolbox = toolbox_of(conversation)
    found = toolbox.discover("hello")
    assert "no version 99" in found["tools"][0]["reason"]


def test_auto_and_filter_keeps_what_was_found_behind_the_linked_tools(talk, catalogue):
    conversation = talk(DiscoveryMode.AUTO_FILTER, catalogue["count_text"])
    found_by(conversation, TOKYO)
    found_by(conversation, "Calculate an arithmetic expression")
    toolbox = toolbox_of(conversation)
    assert names_in(toolbox) == [
        "search_tools",
        "ask_user",
        "count_text",
        "current_time",
        "calculator",
    ]
    told = {t["name"]: t["origin"] for t in toolbox.discover("hello")["visible"]}
    assert told == {"count_text": "linked", "current_time": "kept", "calculator": "kept"}


def test_the_same_tools_give_the_same_bytes_and_a_find_is_added_at_the_end(talk, catalogue):
    conversation = talk(DiscoveryMode.AUTO_FILTER, catalogue["count_text"])
    found_by(conversation, TOKYO)
    toolbox = toolbox_of(conversation)
    before = json.dumps(toolbox.schemas())
    assert json.dumps(toolbox.schemas()) == before
    toolbox.discover("Calculate an arithmetic expression")
    after = json.dumps(toolbox.schemas())
    assert after.startswith(before[:-1])
    assert len(after) > len(before)


def test_a_find_changes_neither_the_prompt_nor_how_running_code_is_told(
    talk, model, say, catalogue
):
    factories.make_run_code()
    conversation = talk(DiscoveryMode.AUTO_FILTER, catalogue["calculator"], code_execution=True)
    model.calls(Call("search_tools", {"need": "the time in a time zone"}))
    model.enqueue("Found.", "And on.")
    say(conversation, "hello")
    say(conversation, "thanks")
    prompts = {request["messages"][0]["content"] for request in model.requests}
    assert len(prompts) == 1
    firsts = {json.dumps(request["tools"][:3]) for request in model.requests}
    assert len(firsts) == 1
    assert model.tools_offered() == [
        "search_tools",
        "ask_user",
        "run_code",
        "calculator",
        "current_time",
    ]


def test_a_tool_called_by_its_exact_name_is_run_and_discovered(talk, model, say, catalogue):
    conversation = talk(DiscoveryMode.FILTER)
    model.calls(Call("calculator", {"expression": "6*7"}))
    model.enqueue("42.")
    (computed,) = results_of(say(conversation, "hello"))
    assert computed["output"]["result"] == 42
    assert model.tools_offered(1) == ["search_tools", "ask_user", "calculator"]
    assert discovered(conversation) == ["calculator"]


def test_a_tool_called_by_name_that_the_agent_denies_is_refused_and_not_told_of(
    talk, model, say, catalogue
):
    conversation = talk(DiscoveryMode.FILTER, catalogue["calculator"])
    AgentTool.objects.update(approval="deny")
    model.calls(Call("calculator", {"expression": "6*7"}))
    model.enqueue("No.")
    (refused,) = results_of(say(conversation, "hello"))
    assert refused["error"]["code"] == "approval_denied"
    assert model.tools_offered(1) == ["search_tools", "ask_user"]


@pytest.mark.parametrize(
    "mode", [DiscoveryMode.AUTO, DiscoveryMode.FILTER, DiscoveryMode.AUTO_FILTER]
)
def test_an_unknown_name_is_answered_with_the_nearest(talk, model, say, catalogue, mode):
    conversation = talk(mode)
    model.calls(Call("curent_time_now", {}))
    model.enqueue("Oh.")
    (refused,) = results_of(say(conversation, "hello"))
    assert refused["error"]["code"] == "unknown_tool"
    assert "Did you mean current_time" in refused["error"]["hint"]


def test_linked_only_does_not_run_what_is_not_linked(talk, model, say, catalogue):
    conversation = talk(DiscoveryMode.LINKED, catalogue["calculator"])
    model.calls(Call("current_time", {}))
    model.enqueue("Oh.")
    (refused,) = results_of(say(conversation, "hello"))
    assert refused["error"]["code"] == "unknown_tool"
    assert discovered(conversation) == []


@pytest.mark.parametrize(
    ("change", "reason", "cause"),
    [
        ({"deleted_at": "2026-01-01T00:00Z"}, "was deleted", "deleted"),
        ({"review_status": ReviewStatus.REJECTED}, "was refused by review", "review"),
        (
            {"stopped_at": "2026-01-01T00:00Z", "stopped_reason": "Wrong."},
            "was stopped by a governor",
            "stopped",
        ),
        ({"review_status": ReviewStatus.CANDIDATE}, "you may no longer use it", "permission"),
        ({"required_scopes": ["clock"]}, "requires the scope clock", "permission"),
        ({"import_health": "broken"}, "broken", "health"),
    ],
)
def test_what_was_found_and_may_not_be_used_any_more_is_told_with_the_reason(
    talk, catalogue, change, reason, cause
):
    conversation = talk(DiscoveryMode.AUTO_FILTER)
    found_by(conversation, TOKYO)
    Tool.objects.filter(wire_name="current_time").update(**change)
    toolbox = toolbox_of(conversation)
    found = toolbox.discover("hello")
    assert names_in(toolbox) == ["search_tools", "ask_user"]
    entry = next(tool for tool in found["tools"] if tool["name"] == "current_time")
    assert (entry["reason"], entry["cause"]) == (reason, cause)


def test_what_was_found_and_is_denied_since_is_not_told_of(talk, catalogue):
    conversation = talk(DiscoveryMode.AUTO_FILTER)
    found_by(conversation, TOKYO)
    AgentTool.objects.create(
        agent=conversation.agent, tool=catalogue["current_time"], approval="deny"
    )
    toolbox = toolbox_of(conversation)
    found = toolbox.discover("hello")
    assert names_in(toolbox) == ["search_tools", "ask_user"]
    assert found["tools"][0]["cause"] == "denied"


def test_what_is_found_brings_its_guidance_along(talk, model, say):
    factories.make_tool(
        wire_name="weather",
        description="Tells the weather forecast of a town.",
        ai_agent={"useCase": "When rain matters.", "limitations": "Europe only."},
    )
    conversation = talk(DiscoveryMode.FILTER)
    model.calls(Call("search_tools", {"need": "a tool that tells the weather forecast"}))
    model.enqueue("Done.")
    (searched,) = results_of(say(conversation, "hello"))
    (tool,) = searched["output"]["tools"]
    assert (tool["use"], tool["limits"]) == ("When rain matters.", "Europe only.")
    offered = model.requests[-1]["tools"][-1]["function"]["description"]
    assert "Use it: When rain matters. Limits: Europe only." in offered
    assert "When rain matters" not in model.requests[-1]["messages"][0]["content"]


def test_what_gave_way_comes_back_at_the_end_when_it_is_called(talk, model, say, catalogue):
    conversation = talk(DiscoveryMode.AUTO_FILTER)
    found_by(conversation, TOKYO)
    found_by(conversation, "Calculate an arithmetic expression")
    DiscoveredTool.objects.filter(tool=catalogue["current_time"]).update(
        evicted_at="2026-01-01T00:00Z"
    )
    model.calls(Call("current_time", {"timezone": "Asia/Tokyo"}))
    model.enqueue("Late.")
    say(conversation, "hello")
    assert model.tools_offered(0) == ["search_tools", "ask_user", "calculator"]
    assert model.tools_offered(1) == ["search_tools", "ask_user", "calculator", "current_time"]
    assert discovered(conversation) == ["calculator", "current_time"]


def test_a_find_makes_the_least_recently_used_give_way(talk, catalogue):
    conversation = talk(DiscoveryMode.AUTO_FILTER)
    first = found_by(conversation, TOKYO)
    sizes = [
        tokens_of(MODEL, load_spec(catalogue[name]), guided=True)
        for name in ("current_time", "calculator")
    ]
    conversation.agent.schema_budget = first["tokens"]["fixed"] + max(sizes)  # room for one
    found = found_by(conversation, "Calculate an arithmetic expression")
    assert [tool["name"] for tool in found["evicted"]] == ["current_time"]
    assert [tool["name"] for tool in found["visible"]] == ["calculator"]
    assert found["tokens"]["saved"] >= found["evicted"][0]["tokens"]
    assert found["tokens"]["spent"] <= found["tokens"]["budget"]
    assert discovered(conversation) == ["calculator"]


def test_a_find_that_does_not_fit_is_told_with_the_budget_as_the_reason(talk, catalogue):
    conversation = talk(DiscoveryMode.AUTO_FILTER, schema_budget=500)
    found = toolbox_of(conversation).discover(TOKYO)
    entry = next(tool for tool in found["tools"] if tool["name"] == "current_time")
    assert entry["injected"] is False
    assert entry["cause"] == "budget"
    assert found["tokens"]["saved"] >= entry["tokens"] > 0
    assert discovered(conversation) == []


def test_linked_tools_without_room_are_deferred_named_and_may_be_called(
    talk, model, say, catalogue
):
    conversation = talk(DiscoveryMode.AUTO_FILTER, *catalogue.values(), schema_budget=600)
    model.calls(Call("current_time", {"timezone": "Asia/Tokyo"}))
    model.enqueue("Late.")
    turn = say(conversation, "hello")
    deferred = [tool["name"] for tool in turn.found["deferred"]]
    assert "current_time" in deferred
    assert "current_time" not in model.tools_offered(0)
    assert "current_time" in model.requests[0]["messages"][0]["content"]
    assert results_of(turn)[0]["output"]["timezone"] == "Asia/Tokyo"


def test_calling_or_finding_again_what_was_kept_counts_as_use(talk, model, say, catalogue):
    conversation = talk(DiscoveryMode.AUTO_FILTER)
    found_by(conversation, TOKYO)
    found_by(conversation, "Calculate an arithmetic expression")
    model.calls(Call("calculator", {"expression": "1"}))
    model.enqueue("1.", "Late.")
    used = DiscoveredTool.objects.filter(conversation=conversation)
    say(conversation, "hello")
    assert used.get(tool=catalogue["calculator"]).used_in == 3
    assert used.get(tool=catalogue["current_time"]).used_in == 1
    say(conversation, TOKYO)
    assert used.get(tool=catalogue["current_time"]).used_in == 4


def test_putting_the_tools_together_and_searching_takes_few_queries(talk, catalogue):
    conversation = talk(DiscoveryMode.AUTO_FILTER, catalogue["count_text"])
    found_by(conversation, TOKYO)
    found_by(conversation, "warm up")
    turn = factories.make_turn(conversation, model=MODEL)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        toolbox_of(conversation, turn).discover("Calculate an arithmetic expression")
    told = [query["sql"][:90] for query in queries]
    assert len(told) <= 25, told


def test_two_processes_that_find_at_once_give_every_tool_a_place_of_its_own(talk):
    conversation = talk(DiscoveryMode.AUTO_FILTER)
    tools = [factories.make_tool() for _ in range(12)]
    turn = factories.make_turn(conversation, model=MODEL)

    def find(mine):
        try:
            for tool in mine:
                tools_discovered(turn, [tool.pk])
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(find, [tools[start::4] + tools[:2] for start in range(4)]))
    places = DiscoveredTool.objects.filter(conversation=conversation).values_list("place", "tool")
    assert sorted(place for place, _ in places) == list(range(12))
    assert {tool for _, tool in places} == {tool.pk for tool in tools}


@pytest.mark.sandbox
def test_what_a_program_calls_counts_as_used(talk, model, say, catalogue, sandbox_service):
    factories.make_run_code()
    conversation = talk(DiscoveryMode.AUTO_FILTER, code_execution=True)
    found_by(conversation, TOKYO)
    program = "await tool_call('current_time', timezone='Asia/Tokyo')"
    model.calls(Call("run_code", {"code": program}))
    model.enqueue("Late.")
    (ran,) = results_of(say(conversation, "hello"))
    assert ran["status"] == "succeeded"
    assert DiscoveredTool.objects.get(tool=catalogue["current_time"]).used_in == 2
