"""A program of `run_code` whose calls need a person: asked through the client, then run on."""

import pytest

from agents.models import AgentTool
from registry.models import Invocation
from tests.agents.mcp.site import MODERN, post, token_for
from tests.agents.mcp.test_asking import LATER, NO, YES, Person, called
from tests.factories import make_agent, make_builtin, make_run_code, make_user

PATH = "/mcp/agents/careful"
PROGRAM = """
counted = await tool_call("count_text", text="one two", what="words")
try:
    sum = (await tool_call("calculator", expression="6*7"))["result"]
except ToolCallError as error:
    sum = error.code
[counted["count"], sum]
"""


@pytest.fixture
def alice(site, sandbox_service):
    return make_user("alice")


@pytest.fixture
def careful(alice):
    """An agent that runs programs, and asks before each call of the calculator."""
    make_run_code()
    tools = [make_builtin(name) for name in ("calculator", "count_text")]
    agent = make_agent(alice, *tools, slug="careful", code_execution=True)
    AgentTool.objects.filter(agent=agent, tool=tools[0]).update(approval="ask")
    return agent


def run(site, alice, person=None, version=MODERN, code=PROGRAM):
    return called(site, alice, PATH, "run_code", {"code": code}, person, version)


def rows(name):
    return Invocation.objects.filter(tool__wire_name=name)


@pytest.mark.parametrize("version", [MODERN, "2025-06-18"])
def test_a_call_that_is_approved_is_made_and_no_other_is_made_twice(site, alice, careful, version):
    person = Person(YES)
    answer = run(site, alice, person, version)

    assert answer.structured_content["result"] == [2, 42], answer.content
    (asked,) = person.asked
    assert "(calculator) run?" in asked.message and "6*7" in asked.message
    whole = rows("run_code").get()
    assert rows("count_text").get().parent_id == whole.pk
    assert (rows("calculator").get().decision, rows("calculator").get().parent_id) == (
        "approved",
        whole.pk,
    )


def test_a_call_that_is_declined_is_told_to_the_program(site, alice, careful):
    answer = run(site, alice, Person(NO))
    assert answer.structured_content["result"] == [2, "approval_denied"]
    assert rows("count_text").count() == 1
    assert rows("calculator").get().outcome != "succeeded"


def test_a_question_that_is_waved_away_ends_the_program(site, alice, careful):
    answer = run(site, alice, Person(LATER))
    assert answer.is_error and "Nobody said" in answer.content[0].text
    assert not rows("calculator").exists()


def test_calls_side_by_side_are_asked_about_at_once_and_later_ones_after(site, alice, careful):
    code = """
first = await asyncio.gather(*(tool_call("calculator", expression=e) for e in ("1+1", "2+2")))
last = await tool_call("calculator", expression="3+3")
[each["result"] for each in (*first, last)]
"""
    person = Person(YES, YES)
    answer = run(site, alice, person, code=code)
    assert answer.structured_content["result"] == [2, 4, 6], answer.content
    first, last = person.asked
    assert "1+1" in first.message and "2+2" in first.message and "3+3" not in first.message
    assert "3+3" in last.message
    assert rows("calculator").count() == 3


def test_a_program_may_ask_its_person(site, alice, careful):
    code = 'await tool_call("ask_user", question="Which one?", options=["a", "b"])'
    person = Person(("accept", {"answer_1": "b"}))
    answer = run(site, alice, person, code=code)
    assert answer.structured_content["result"] == "b"
    assert person.asked[0].message == "A program waits for you.\n\nWhich one? (a / b)"
    assert run(site, alice, Person(NO), code=code).structured_content["result"] is None


def test_a_client_that_cannot_ask_has_the_program_told(site, alice, careful):
    answer = run(site, alice)
    assert answer.structured_content["result"] == [2, "approval_required"]


def by_hand(site, token, name="run_code", arguments=None, **more):
    return post(
        f"{site}{PATH}",
        token,
        "tools/call",
        {
            "name": name,
            "arguments": {"code": PROGRAM} if arguments is None else arguments,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {
                    "elicitation": {"form": {}, "url": {}}
                },
            },
            **more,
        },
    ).json()


ANSWER = {"inputResponses": {"answer": {"action": "accept", "content": {}}}}


def test_an_answer_to_a_program_counts_once(site, alice, careful):
    token = token_for(alice)
    state = by_hand(site, token)["result"]["requestState"]
    assert by_hand(site, token, requestState=state, **ANSWER)["result"]["structuredContent"]
    again = by_hand(site, token, requestState=state, **ANSWER)
    assert again["error"]["data"] == {"reason": "invalid_request_state"}
    assert rows("calculator").count() == rows("count_text").count() == 1
