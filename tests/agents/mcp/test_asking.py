"""A call that needs a person asks one through the client, in every revision that can."""

import json

import mcp_types as types
import pytest

from agents.models import AgentTool
from registry.models import Invocation
from sequences.models import Run, RunRequest
from tests.agents.mcp.site import MODERN, post, token_for, using
from tests.agents.mcp.steps import printed, working
from tests.factories import make_agent, make_builtin, make_user

ASKING = (MODERN, "2025-11-25", "2025-06-18")


class Person:
    """Answers what is asked, and remembers what that was."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def __call__(self, context, params):
        self.asked.append(params)
        action, content = self.answers.pop(0)
        return types.ElicitResult(action=action, content=content)


YES, NO, LATER = ("accept", {}), ("decline", None), ("cancel", None)


@pytest.fixture
def alice(site):
    return make_user("alice")


@pytest.fixture
def careful(alice):
    """An agent that asks before each call of the calculator."""
    calculator = make_builtin("calculator", title="Calculator")
    agent = make_agent(alice, calculator, slug="careful")
    AgentTool.objects.filter(agent=agent).update(approval="ask")
    return agent


def called(site, user, path, name, arguments, person=None, version=MODERN, token=""):
    async def use(client):
        return await client.call_tool(name, arguments)

    options = {"elicitation_callback": person} if person else {}
    token = token or token_for(user)
    return using(f"{site}{path}", token, use, version=version, **options)


def sums(site, user, person=None, version=MODERN):
    arguments = {"expression": "6*7"}
    return called(site, user, "/mcp/agents/careful", "calculator", arguments, person, version)


@pytest.mark.parametrize("version", ASKING)
def test_a_call_that_is_approved_runs_once_and_is_recorded_as_approved(
    site, alice, careful, version
):
    person = Person(YES)
    answer = sums(site, alice, person, version)
    assert not answer.is_error, answer.content
    assert "42" in answer.content[0].text
    (asked,) = person.asked
    assert "Let “Calculator” (calculator) run?" in asked.message
    assert "6*7" in asked.message
    row = Invocation.objects.get()
    assert (row.decision, row.user, row.outcome) == ("approved", alice, "succeeded")


@pytest.mark.parametrize("version", ASKING)
def test_a_call_that_is_declined_does_not_run_and_is_recorded_as_denied(
    site, alice, careful, version
):
    answer = sums(site, alice, Person(NO), version)
    assert answer.is_error
    assert "did not let calculator run" in answer.content[0].text
    assert Invocation.objects.get().decision == "denied"


@pytest.mark.parametrize("version", ASKING)
def test_a_question_that_is_waved_away_leaves_nothing_behind(site, alice, careful, version):
    answer = sums(site, alice, Person(LATER), version)
    assert answer.is_error
    assert "Nobody said whether" in answer.content[0].text
    assert not Invocation.objects.exists()


@pytest.mark.parametrize("version", [*ASKING, "2025-03-26"])
def test_a_client_that_cannot_ask_is_told_where_to_allow_it(site, alice, careful, version):
    answer = sums(site, alice, None, version)
    assert answer.is_error
    assert f"{site}/agents/careful/approvals/" in answer.content[0].text
    assert answer.meta["outfitter/error"]["code"] == "approval_required"
    assert not Invocation.objects.exists()


def asked_once(site, token, **more):
    """Call the calculator as a client without a library that can show forms."""
    return post(
        f"{site}/mcp/agents/careful",
        token,
        "tools/call",
        {
            "name": "calculator",
            "arguments": {"expression": "6*7"},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
            },
            **more,
        },
    ).json()


ANSWER = {"inputResponses": {"answer": {"action": "accept", "content": {}}}}


def test_what_a_client_carries_is_sealed(site, alice, careful):
    result = asked_once(site, token_for(alice))["result"]
    assert result["resultType"] == "input_required"
    assert result["inputRequests"]["answer"]["method"] == "elicitation/create"
    assert result["requestState"].startswith("v1.")
    assert "approval" not in result["requestState"]


def test_an_answer_counts_once(site, alice, careful):
    token = token_for(alice)
    state = asked_once(site, token)["result"]["requestState"]
    first = asked_once(site, token, requestState=state, **ANSWER)["result"]
    assert "42" in first["content"][0]["text"]
    again = asked_once(site, token, requestState=state, **ANSWER)
    assert again["error"]["data"] == {"reason": "invalid_request_state"}
    assert Invocation.objects.count() == 1


def altered(state):
    middle = len(state) // 2
    return state[:middle] + ("A" if state[middle] != "A" else "B") + state[middle + 1 :]


@pytest.mark.parametrize(
    "change",
    [
        {"requestState": "alter"},
        {"arguments": {"expression": "7*7"}},
        {"name": "count_text", "arguments": {"text": "6*7"}},
        {"requestState": '{"approved": true}'},
        {"inputResponses": {}},
    ],
)
def test_a_state_that_was_altered_or_is_of_another_call_is_refused(site, alice, careful, change):
    AgentTool.objects.create(agent=careful, tool=make_builtin("count_text"))
    token = token_for(alice)
    state = asked_once(site, token)["result"]["requestState"]
    if change.get("requestState") == "alter":
        change = {"requestState": altered(state)}
    refused = asked_once(site, token, **{"requestState": state, **ANSWER, **change})
    assert refused["error"]["data"] == {"reason": "invalid_request_state"}
    assert not Invocation.objects.exists()


def test_the_state_of_somebody_else_is_refused(site, alice, careful):
    bob, team = make_user("bob"), careful
    from tests.factories import make_team

    team.team, team.visibility = make_team("crew", alice, bob), "team"
    team.save()
    state = asked_once(site, token_for(alice))["result"]["requestState"]
    refused = asked_once(site, token_for(bob), requestState=state, **ANSWER)
    assert refused["error"]["data"] == {"reason": "invalid_request_state"}


def test_a_state_that_is_too_old_is_refused(site, alice, careful, monkeypatch):
    import mcp.server.request_state as sdk

    token = token_for(alice)
    state = asked_once(site, token)["result"]["requestState"]
    now = sdk.time.time()
    monkeypatch.setattr(sdk.time, "time", lambda: now + 1_801)
    refused = asked_once(site, token, requestState=state, **ANSWER)
    monkeypatch.undo()
    assert refused["error"]["data"] == {"reason": "invalid_request_state"}


def test_a_tool_that_changed_since_is_asked_about_anew(site, alice, careful):
    token = token_for(alice)
    state = asked_once(site, token)["result"]["requestState"]
    tool = careful.tools.get()
    from registry.services import tool_publish

    tool.description = "It does sums, differently."
    tool_publish(tool, author=alice)
    again = asked_once(site, token, requestState=state, **ANSWER)["result"]
    assert again["resultType"] == "input_required"
    assert not Invocation.objects.exists()


@pytest.mark.parametrize("version", ASKING)
def test_a_sequence_asks_with_its_form_and_the_same_run_goes_on(site, alice, version):
    printed(alice)
    person = Person(("accept", {"copies": 2, "express": True}))
    with working():
        answer = called(site, alice, "/mcp", "print_it", {"text": "a b"}, person, version)
    assert not answer.is_error, answer.content
    (asked,) = person.asked
    assert asked.message.startswith("Print it?")
    assert asked.requested_schema["properties"]["copies"] == {"type": "integer", "minimum": 1}
    assert asked.requested_schema["required"] == ["copies"]
    run = Run.objects.get()
    assert (run.status, run.caller) == ("succeeded", "mcp")
    request = RunRequest.objects.get()
    assert (request.values, request.answered_by) == ({"copies": 2, "express": True}, alice)
    said = json.loads(answer.content[0].text)["said"]
    assert said["approved"] is True
    assert Invocation.objects.filter(tool__wire_name="print_it").count() == 1


@pytest.mark.parametrize("version", ASKING)
def test_an_answer_that_does_not_fit_the_form_is_asked_for_again(site, alice, version):
    printed(alice)
    person = Person(("accept", {"copies": 0}), ("accept", {"copies": 1}))
    with working():
        answer = called(site, alice, "/mcp", "print_it", {"text": "a b"}, person, version)
    assert not answer.is_error, answer.content
    assert "copies" in person.asked[1].message.splitlines()[0]
    assert RunRequest.objects.get().values == {"copies": 1}
    assert Run.objects.count() == 1


@pytest.mark.parametrize("version", ASKING)
def test_a_person_who_declines_ends_the_run(site, alice, version):
    printed(alice)
    with working():
        answer = called(site, alice, "/mcp", "print_it", {"text": "a b"}, Person(NO), version)
    assert answer.is_error
    assert "refused" in answer.content[0].text
    assert Run.objects.get().status == "failed"
    assert RunRequest.objects.get().approved is False


@pytest.mark.parametrize("version", [*ASKING, "2025-03-26"])
def test_a_run_that_nobody_answers_here_waits_on_its_page(site, alice, version):
    printed(alice)
    person = Person(LATER) if version in ASKING[:2] else None
    with working():
        answer = called(site, alice, "/mcp", "print_it", {"text": "a b"}, person, version)
    run = Run.objects.get()
    assert answer.is_error
    assert f"{site}/runs/{run.pk}/" in answer.content[0].text
    assert run.status == "waiting"
    assert RunRequest.objects.get().approved is None
