"""An agent that runs code: what it is offered, what comes back, and what the person sees."""

import json
import threading

import pytest
from django.test import Client

from agents.models import AgentTool
from agents.models.agent_tool import Approval
from chat import services
from chat.demo.model import reply_to
from chat.models import Artifact
from chat.models.message import Role
from chat.models.turn import TurnStatus
from chat.variables import variables_remember
from registry.models import Invocation, Tool
from tests import factories
from tests.chat.conftest import finished
from tests.fakes.model_server import MODEL, Call, Reply
from tests.live import eventually

pytestmark = [pytest.mark.sandbox, pytest.mark.django_db(transaction=True)]

LOOP = """
words = {}
for text in ["one two", "three"]:
    counted = await tool_call("count_text", text=text)
    shouted = await tool_call("change_case", text=text, case="upper")
    words[shouted["text"]] = counted["count"]
try:
    await tool_call("calculator", expression="1+1")
except ToolCallError as error:
    words["refused"] = error.code
words
"""


@pytest.fixture
def conversation(alice, sandbox_service):
    """Alice's conversation with an agent that may run code and has three tools."""
    tools = [factories.make_builtin(name) for name in ("count_text", "change_case", "calculator")]
    factories.make_run_code()
    agent = factories.make_agent(alice, *tools, model=MODEL, code_execution=True)
    return factories.make_conversation(alice, agent)


def test_a_loop_over_tools_is_one_call_for_the_model(conversation, model, say, client_for, alice):
    hold = threading.Event()
    model.enqueue(Reply("Let me write a program.", (Call("run_code", {"code": LOOP}),), hold=hold))
    model.enqueue("Counted.")
    turn = services.message_send(conversation, content="Count and shout these words")
    eventually(lambda: turn.events.filter(name="text.delta").exists(), what="the first words")
    # denied after the tools of the turn were put together: it counts all the same
    links = AgentTool.objects.filter(tool__wire_name="calculator")
    links.update(approval=Approval.DENY)
    hold.set()
    turn = finished(turn)
    assert turn.status == TurnStatus.COMPLETED

    told = model.requests[-1]["messages"][-1]["content"]
    assert '"result": {"ONE TWO": 2, "THREE": 1, "refused": "approval_denied"}' in told
    assert '"calls": 5' in told
    assert "count_text" not in told

    result = turn.messages.get(role=Role.TOOL).result
    outer = Invocation.objects.get(tool__wire_name="run_code")
    assert result["details"]["invocation"] == str(outer.pk)
    children = Invocation.objects.filter(parent_id=outer.pk).order_by("created_at")
    assert [child.tool.wire_name for child in children] == [
        "count_text",
        "change_case",
        "count_text",
        "change_case",
        "calculator",
    ]
    assert [child.error_code for child in children] == ["", "", "", "", "approval_denied"]
    assert {child.turn_id for child in children} == {turn.pk}
    progress = (
        turn.events.filter(name="tool.progress").order_by("number").values_list("data", flat=True)
    )
    assert {note["status"] for note in progress} == {"running", "succeeded", "failed"}

    page = client_for(alice).get(f"/chat/{conversation.pk}/").content.decode()
    assert "for text in [&quot;one two&quot;" in page
    assert f"/invocations/{outer.pk}/" in page


def test_a_programs_long_result_is_kept_as_an_artifact(conversation, model, say):
    model.calls(Call("run_code", {"code": "['row ' + str(n) + ' of many' for n in range(2000)]"}))
    model.enqueue("Listed.")
    say(conversation, "List the rows")
    artifact = Artifact.objects.get(conversation=conversation)
    assert artifact.name == "run_code.json"
    assert json.loads(bytes(artifact.content))["result"][-1] == "row 1999 of many"
    assert artifact.invocation_id == Invocation.objects.get().pk
    assert "«artifact_content:run_code.json»" in model.requests[-1]["messages"][-1]["content"]


def test_stopping_the_turn_kills_the_program(conversation, model, sandbox_service):
    model.calls(Call("run_code", {"code": "await count_text(text='a')\nwhile True: pass"}))
    turn = services.message_send(conversation, content="Run for ever")
    eventually(lambda: turn.events.filter(name="tool.progress").exists(), what="the inner call")
    services.turn_stop(turn)
    assert finished(turn).status == TurnStatus.STOPPED
    row = eventually(
        lambda: Invocation.objects.filter(tool__wire_name="run_code").first(), what="the record"
    )
    assert row.error_code == "cancelled"


def test_running_code_is_offered_with_what_it_may_call(conversation, model, say):
    model.enqueue("Hello.")
    say(conversation, "Hello")
    assert "run_code" in model.tools_offered()
    offered = model.requests[-1]["tools"][2]["function"]
    assert offered["name"] == "run_code"
    told = "It can call each of your other tools by its name, and ask_user, but not search_tools."
    assert told in offered["description"]
    assert "## Running code" in model.requests[-1]["messages"][0]["content"]


def test_an_agent_that_may_not_run_code_is_not_offered_it_and_cannot_call_it(
    conversation, model, say
):
    agent = conversation.agent
    agent.code_execution = False
    agent.save()
    model.calls(Call("run_code", {"code": "1"}))
    model.enqueue("I cannot.")
    turn = say(conversation, "Run python code in a program that loops over items")
    assert "run_code" not in model.tools_offered(0)
    assert "## Running code" not in model.requests[0]["messages"][0]["content"]
    assert turn.messages.get(role=Role.TOOL).result["error"]["code"] == "unknown_tool"
    assert not Invocation.objects.exists()


def test_the_tool_that_runs_code_is_not_linked_like_others(conversation, client_for, alice):
    tool, agent = Tool.objects.get(wire_name="run_code"), conversation.agent
    url = f"/api/v1/agents/{agent.slug}/tools/"
    answer = client_for(alice).post(url, {"toolId": str(tool.pk)}, "application/json")
    assert answer.status_code == 400
    assert "Let it run code" in answer.json()["hint"]


def test_the_setting_is_made_in_the_form_and_through_rest(conversation, client_for, alice):
    client: Client = client_for(alice)
    agent = conversation.agent
    url = f"/api/v1/agents/{agent.slug}/"
    assert client.get(url).json()["codeExecution"] is True
    assert client.patch(url, {"codeExecution": False}, "application/json").status_code == 200
    agent.refresh_from_db()
    assert agent.code_execution is False
    assert "Let it run code" in client.get(f"/agents/{agent.slug}/edit/").content.decode()


@pytest.mark.parametrize(
    "said",
    ["What is 17 * 23?", "Run a program with a loop over several tools", "Write Python code"],
)
def test_the_demo_model_leaves_running_code_alone(said):
    run_code = {
        "type": "function",
        "function": {
            "name": "run_code",
            "description": "Run a Python program that calls tools in a loop.",
            "parameters": {"type": "object", "properties": {"code": {"type": "string"}}},
        },
    }
    assert reply_to([{"role": "user", "content": said}], [run_code]).calls == ()


def test_the_demo_model_runs_a_program_that_the_person_wrote():
    run_code = {
        "type": "function",
        "function": {"name": "run_code", "parameters": {"type": "object", "properties": {}}},
    }
    said = "Run this:\n```python\n1 + 1\n```"
    reply = reply_to([{"role": "user", "content": said}], [run_code])
    assert reply.calls == (("run_code", '{"code": "1 + 1\\n"}'),)


def test_a_long_result_of_a_program_is_kept_as_an_artifact(conversation, model, say):
    model.calls(Call("run_code", {"code": "'x' * 60_000"}))
    model.enqueue("Done.")
    say(conversation, "Write a lot")
    artifact = Artifact.objects.get()
    assert artifact.name == "run_code.json"
    assert "«artifact_content:run_code.json»" in model.requests[-1]["messages"][-1]["content"]


def test_what_a_program_comes_to_holds_no_secret_of_the_conversation(conversation, model, say):
    variables_remember(conversation, {"A_KEY": "canary-1f0e9d8c"})
    model.calls(Call("run_code", {"code": "'canary' + '-1f0e9d8c'"}))
    model.enqueue("Done.")
    turn = say(conversation, "Put it together")
    assert "canary-1f0e9d8c" not in model.requests[-1]["messages"][-1]["content"]
    assert "canary-1f0e9d8c" not in str(turn.messages.values_list("result", "content"))
