"""The client at the running product: discovery, calls, runs, chat, of both kinds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User

import outfitter_client as oc
from agents.models import Agent
from agents.oauth.clients import client_make
from agents.tokens import token_create
from chat.models import Turn
from registry.models import Invocation
from tests import factories
from tests.clients.both import Both
from tests.clients.conftest import Open
from tests.live import Live, eventually

pytestmark = pytest.mark.xdist_group("live")

ASK = {"title": "Go on?", "message": "{{ initial.text }}"}


def token_of(user: User, *scopes: str) -> str:
    return token_create(user, name="client", scopes=scopes)[1]


@pytest.fixture
def both(live: Live, alice: User, open_client: Open) -> Both:
    """Alice's client at the running product, which has a calculator."""
    factories.make_builtin("calculator")
    return open_client(live.url, token=token_of(alice))


def test_tools_are_discovered_described_and_called(both: Both) -> None:
    tools = both.do("discover")
    tool = tools["calculator"]
    assert tools.names == ["calculator"]
    assert tool.required == ("expression",)
    assert both.wait(tool(expression="17 * 23"))["result"] == 391
    assert both.do("call", "calculator", expression="2 + 2")["result"] == 4
    assert both.do("prompt_context") == f"Available tools:\n{tool.prompt_line()}"
    assert both.do("usage").as_dict() == {
        "agent": "",
        "total_tools_available": 1,
        "total_tool_calls": 2,
        "usage_by_tool": {"calculator": 2},
        "most_used_tool": "calculator",
    }


def test_a_new_tool_is_seen_at_once_and_an_unchanged_list_stays_the_same(both: Both) -> None:
    first = both.do("discover")
    assert both.do("rediscover")["calculator"] is first["calculator"]
    factories.make_builtin("current_time")
    assert both.do("rediscover").added == ("current_time",)


def test_a_search_finds_by_a_need_and_what_was_said_before(both: Both) -> None:
    said = {"messages": ["I have two numbers"], "limit": 3}
    found = eventually(lambda: both.do("search", "work out a sum", **said))
    assert [each.tool.name for each in found] == ["calculator"]
    assert both.wait(found[0].tool(expression="1 + 1"))["result"] == 2


def test_a_refused_call_raises_the_error_of_its_family(both: Both) -> None:
    with pytest.raises(oc.InvalidRequest) as caught:
        both.do("call", "calculator", expression=3)
    assert caught.value.code == "invalid_arguments"
    assert caught.value.extra["problems"]
    with pytest.raises(oc.ToolFailed) as failed:
        both.do("call", "calculator", expression="1 / 0")
    assert failed.value.code == "input_rejected"
    with pytest.raises(oc.NotFound):
        both.do("call", "no/such tool")


def test_a_token_without_the_scope_may_not(live: Live, alice: User, open_client: Open) -> None:
    factories.make_builtin("calculator", required_scopes=["sums:do"])
    both = open_client(live.url, token=token_of(alice, "tools:read", "tools:run"))
    assert both.do("discover").names == []
    with pytest.raises(oc.NotAllowed):
        both.do("call", "calculator", expression="1")
    both.do("renew", token=token_of(alice, "tools:read", "tools:run", "sums:do"))
    assert both.do("rediscover").added == ("calculator",)
    both.do("renew", token="oft_unknown")
    with pytest.raises(oc.AuthenticationFailed):
        both.do("discover")


def test_an_agents_client_is_that_agent(live: Live, alice: User, open_client: Open) -> None:
    tool = factories.make_builtin("calculator", required_scopes=["sums:do"])
    agent = factories.make_agent(alice, tool, slug="counter", scopes=["sums:do"])
    client, secret = client_make(agent, name="script")
    both = open_client(live.url, client_id=client.client_id, secret=secret)
    assert "calculator" in both.do("discover")
    assert both.do("call", "calculator", expression="6 * 7")["result"] == 42
    assert Invocation.objects.get().agent_id == agent.pk
    Agent.objects.filter(pk=agent.pk).update(scopes=[])
    assert "calculator" not in both.do("rediscover")
    wrong = open_client(live.url, client_id=client.client_id, secret="wrong")
    with pytest.raises(oc.AuthenticationFailed, match=r"invalid_client"):
        wrong.do("discover")


def test_an_agents_toolset_and_its_recorded_use(live: Live, alice: User, open_client: Open) -> None:
    tool = factories.make_builtin("calculator")
    factories.make_builtin("current_time")
    factories.make_agent(alice, tool, slug="counter")
    both = open_client(live.url, token=token_of(alice), agent="counter")
    assert both.do("discover").names == ["calculator"]
    both.do("call", "calculator", expression="1")
    used = both.do("recorded_usage")
    assert (used.agent, used.usage_by_tool) == ("counter", {"calculator": 1})


def test_a_call_with_details_and_the_same_key_twice(both: Both) -> None:
    result = both.do("call_with", "calculator", {"expression": "2 * 3"})
    assert result.output["result"] == 6
    assert str(Invocation.objects.get().pk) == result.invocation
    with pytest.raises(oc.InvalidRequest, match="no sequence"):
        both.do("run", "calculator", {"expression": "1"})


def test_all_pages_of_a_list_are_gone_through(both: Both) -> None:
    for _ in range(5):
        factories.make_tool()
    assert len(both.do("catalogue", limit=2)) == 6
    assert both.do("stats")["total_tools"] == 6


def test_a_sequence_is_called_like_any_tool(both: Both, alice: User) -> None:
    sequence = factories.make_sequence(alice, wire_name="work_out")
    output = both.do("call", "work_out", text="17 * 23")
    assert output[0]["output"]["result"] == 391
    run = both.do("run", "work_out", {"text": "1 / 0"})
    with pytest.raises(oc.RunFailed) as caught:
        both.do("result", of=run)
    assert caught.value.extra["run"] == run.id
    by_id = both.do("run", str(sequence.pk), {"text": "3"})
    assert both.do("wait", 60, of=by_id).status == "succeeded"
    assert {each.id for each in both.do("runs", tool=str(sequence.pk))} >= {run.id, by_id.id}
    with pytest.raises(oc.InvalidRequest, match="is a sequence"):
        both.do("call_with", "work_out", {"text": "3"})


def asking_sequence(owner: User) -> None:
    steps: list[dict[str, Any]] = [{"stepNumber": 1, "approval": ASK, "storeOutputAs": "asked"}]
    final = {"yes": {"source": "previousStep", "step": "asked", "path": "approved"}}
    definition = {"format": 1, "steps": steps, "finalOutputMapping": final}
    factories.make_sequence(owner, wire_name="ask_first", definition=definition)


def test_a_run_asks_is_answered_and_goes_on(both: Both, alice: User) -> None:
    asking_sequence(alice)
    run = both.do("run", "ask_first", {"text": "Really?"})
    with pytest.raises(oc.InputNeeded):
        both.do("result", of=run)
    assert (run.waits, run.requests[0]["title"]) == (True, "Go on?")
    with pytest.raises(oc.TimedOut):
        both.do("wait", 0.2, of=run)
    both.do("answer", run.requests[0], approved=True, note="Yes.", of=run)
    assert both.do("result", of=run) == {"yes": True}
    assert [each.name for each in both.do("events", of=run)][-1] == "end"


def test_a_run_is_cancelled(both: Both, alice: User) -> None:
    asking_sequence(alice)
    run = both.do("run", "ask_first", {"text": "Really?"})
    both.do("wait", until_waiting=True, of=run)
    assert both.do("cancel", of=run).status == "cancelled"
    with pytest.raises(oc.RunFailed):
        both.do("result", of=run)


def test_a_turn_is_followed_by_its_events(both: Both, alice: User) -> None:
    factories.make_agent(alice, slug="helper", model="demo/offline")
    chat = both.do("chat", "helper")
    turn = chat.send("What is 17 * 23?")
    names = [each.name for each in both.wait(turn if hasattr(turn, "__aiter__") else iter(turn))]
    assert (names[0], names[-1]) == ("turn.started", "turn.completed")
    assert turn.status == "completed"
    assert "391" in turn.text
    assert [call["name"] for call in turn.tool_calls.values()] == ["calculator"]
    assert "391" in both.do("ask", "And what is 17 * 23?", of=chat)


def test_a_turn_that_asks_is_answered_and_goes_on(both: Both, alice: User) -> None:
    factories.make_agent(alice, slug="careful", model="demo/offline", approval_default="ask")
    chat = both.do("chat", "careful")
    turn = chat.send("What is 17 * 23?")
    both.do("wait", of=turn)
    assert (turn.status, turn.requests[0]["kind"]) == ("waiting", "approval")
    both.do("answer", turn.requests[0], of=turn)
    both.do("wait", of=turn)
    assert (turn.requests, "391" in turn.text) == ([], True)
    eventually(lambda: Turn.objects.get(pk=turn.id).status == "completed")


def test_a_tool_is_registered_and_taken_away(both: Both, live: Live) -> None:
    made = both.do(
        "register", "health_of_it", "Tells how it is.", url=f"{live.url}/healthz", method="GET"
    )
    assert made["name"] == "health_of_it"
    assert both.do("rediscover")["health_of_it"].description == "Tells how it is."
    assert "ok" in json.dumps(both.do("call", "health_of_it"))
    both.do("unregister", "health_of_it")
    assert "health_of_it" not in both.do("rediscover")
