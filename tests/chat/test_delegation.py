"""An agent asks another one, as a tool."""

import pytest

from agents.models import Agent
from agents.offering import agent_offer, agent_withdraw
from agents.services import agent_update, tool_link
from chat.models import Conversation, Turn
from chat.models.message import Role
from chat.models.turn import TurnStatus
from config.lib.errors import NotFound
from registry.models.tool import ToolKind
from tests import factories
from tests.fakes.model_server import MODEL, Call, Reply

pytestmark = pytest.mark.django_db(transaction=True)


def agent_of(owner, name: str, *tools, **fields) -> Agent:
    fields = {"model": MODEL, "discovery_mode": "linked", "name": name, **fields}
    return factories.make_agent(owner, *tools, **fields)


@pytest.fixture
def expert(alice) -> Agent:
    """An agent that can calculate and is offered as a tool."""
    agent = agent_of(alice, "Expert", factories.make_builtin("calculator"))
    agent_offer(agent)
    return agent


@pytest.fixture
def conversation(alice, expert) -> Conversation:
    """Alice's conversation with an agent that may ask the expert."""
    return factories.make_conversation(alice, agent_of(alice, "Front", expert.offered_as))


def test_an_agent_that_is_offered_is_a_tool_of_its_owner(alice, expert):
    tool = expert.offered_as
    assert (tool.kind, tool.wire_name, tool.owner) == (ToolKind.AGENT, "ask_expert", alice)
    assert tool.visibility == "private"


def test_an_agent_asks_another_and_gets_its_answer(conversation, expert, model, say):
    model.calls(Call("ask_expert", {"message": "What is 17*23?"}))
    model.calls(Call("calculator", {"expression": "17*23"}))
    model.enqueue("It is 391.", "The expert says 391.")
    turn = say(conversation, "Ask the expert for seventeen times twenty-three.")

    assert turn.status == TurnStatus.COMPLETED
    assert model.requests[1]["messages"][-1]["content"] == "What is 17*23?"
    answer = turn.messages.get(role=Role.TOOL).result
    assert answer["output"] == {"answer": "It is 391."}
    inner = Conversation.objects.get(asked_in=turn)
    assert (inner.agent, inner.user, inner.depth) == (expert, conversation.user, 1)
    assert answer["details"]["conversation"] == str(inner.pk)
    assert [step["message"] for step in answer["progress"]][:1] == ["calculator"]


def test_agents_that_ask_one_another_come_to_an_end(alice, model, say):
    loops = agent_of(alice, "Loop")
    tool_link(loops, agent_offer(loops).pk)
    for _ in range(4):
        model.calls(Call("ask_loop", {"message": "You do it."}))
    model.enqueue("Nobody could.", "Nobody.", "No.", "Nothing came of it.")
    turn = say(factories.make_conversation(alice, loops), "Do it.")

    assert turn.status == TurnStatus.COMPLETED
    assert Conversation.objects.filter(agent=loops).count() == 4
    deepest = Turn.objects.get(conversation__depth=3)
    error = deepest.messages.get(role=Role.TOOL).result["error"]
    assert error["message"] == "Agents ask one another more than 3 deep."


def test_an_agent_that_fails_is_told_as_the_tools_failure(conversation, model, say):
    model.calls(Call("ask_expert", {"message": "Hello?"}))
    model.refuses(401, "no such key")
    model.enqueue("The expert is away.")
    turn = say(conversation, "Ask the expert.")

    error = turn.messages.get(role=Role.TOOL).result["error"]
    assert error["code"] == "tool_failed"
    assert error["message"].startswith("Expert could not answer: ")


def test_whoever_may_not_talk_to_an_agent_may_not_ask_it(alice, charlie, expert):
    with pytest.raises(NotFound):
        tool_link(agent_of(charlie, "Stranger"), expert.offered_as.pk)


def test_the_tool_requires_what_the_agent_is_granted(alice, conversation, expert, model, say):
    agent_update(expert, scopes=["mail:send"])
    model.calls(Call("ask_expert", {"message": "Send it."}))
    model.enqueue("I may not.")
    turn = say(conversation, "Send it.")

    error = turn.messages.get(role=Role.TOOL).result["error"]
    assert error["code"] == "permission_refused"
    assert "mail:send" in error["message"]
    assert not Conversation.objects.filter(agent=expert).exists()


def test_an_agent_that_is_offered_no_more_is_gone_for_those_that_carry_it(
    conversation, expert, model, say
):
    agent_withdraw(expert)
    model.enqueue(Reply(text="I cannot ask."))
    say(conversation, "Ask the expert.")

    assert model.tools_offered(0) == ["ask_user"]


def test_a_person_calls_the_agent_as_any_tool(client_for, alice, expert, model):
    model.enqueue("Forty-two.")
    path = f"/api/v1/tools/{expert.offered_as_id}/run/"
    client = client_for(alice)
    told = client.post(path, {"arguments": {"message": "Why?"}}, content_type="application/json")

    assert told.json()["output"] == {"answer": "Forty-two."}
