"""What no form of MCP can ask is done on a page; secrets never pass through a client."""

import mcp_types as types
import pytest

from agents.bearer import Bearer
from agents.mcp import asking, door
from agents.models import AgentTool
from agents.services import credential_set
from config.lib.threads import in_thread
from registry.models import Invocation
from sequences.models import Run, RunRequest
from sequences.requests import request_answer
from tests.agents.mcp.site import MODERN, post, token_for, using
from tests.agents.mcp.steps import printed, working
from tests.agents.mcp.test_asking import YES, Person
from tests.factories import make_agent, make_builtin, make_package, make_user
from tests.sequences import workshop

VISITING = (MODERN, "2025-11-25")
LIST = {
    "type": "object",
    "properties": {"pages": {"type": "array", "items": {"type": "integer"}}},
    "required": ["pages"],
}


@pytest.fixture
def alice(site, settings):
    kinds = {**settings.TOOL_EXECUTORS, "npm": "tests.sequences.workshop.WorkshopExecutor"}
    settings.TOOL_EXECUTORS = kinds
    return make_user("alice")


@pytest.fixture
def keyed(alice):
    package = make_package(env=[{"name": "EXA_API_KEY", "required": True}])
    return workshop.make("credential", package=package)


class Visitor:
    """Agrees to go to a page, and does there what `act` does."""

    def __init__(self, act, action="accept"):
        self.act, self.action, self.asked = act, action, []

    async def __call__(self, context, params):
        self.asked.append(params)
        if self.action == "accept":
            await in_thread(self.act)
        return types.ElicitResult(action=self.action)


def called(site, user, name, arguments, person, version):
    async def use(client):
        return await client.call_tool(name, arguments)

    options = {"elicitation_callback": person} if person else {}
    return using(f"{site}/mcp", token_for(user), use, version=version, **options)


@pytest.mark.parametrize("version", VISITING)
def test_a_credential_is_set_on_its_page_and_the_call_goes_on(site, alice, keyed, version):
    person = Visitor(lambda: credential_set(alice, name="EXA_API_KEY", value="canary-value-7"))
    answer = called(site, alice, "credential", {}, person, version)
    assert not answer.is_error, answer.content
    (asked,) = person.asked
    assert isinstance(asked, types.ElicitRequestURLParams)
    assert asked.url == f"{site}/agents/credentials/"
    assert "EXA_API_KEY" in asked.message
    assert "canary" not in answer.content[0].text


@pytest.mark.parametrize("version", VISITING)
def test_who_does_not_go_there_ends_the_call(site, alice, keyed, version):
    answer = called(site, alice, "credential", {}, Visitor(None, "decline"), version)
    assert answer.is_error
    assert "was not given" in answer.content[0].text


@pytest.mark.parametrize("version", [*VISITING, "2025-06-18"])
def test_a_client_without_pages_is_told_where_it_is_set(site, alice, keyed, version):
    person = Person(YES) if version == "2025-06-18" else None
    answer = called(site, alice, "credential", {}, person, version)
    assert answer.is_error
    assert f"{site}/agents/credentials/" in answer.content[0].text


def test_a_page_that_is_never_filled_in_is_asked_for_a_few_times_only(site, alice, keyed):
    person = Visitor(lambda: None)
    answer = called(site, alice, "credential", {}, person, MODERN)
    assert answer.is_error
    assert len(person.asked) == asking.MOST_TRIES


@pytest.mark.parametrize("version", VISITING)
def test_a_form_with_lists_is_filled_in_on_the_page_of_its_run(site, alice, version):
    printed(alice, inputSchema=LIST)

    def fill_in():
        asked = RunRequest.objects.get()
        request_answer(asked, user=alice, approved=True, values={"pages": [1, 2]})

    person = Visitor(fill_in)
    with working():
        answer = called(site, alice, "print_it", {"text": "a"}, person, version)
    assert not answer.is_error, answer.content
    assert person.asked[0].url == f"{site}/runs/{Run.objects.get().pk}/"
    assert RunRequest.objects.get().values == {"pages": [1, 2]}


def test_agreeing_to_visit_a_run_approves_nothing(site, alice):
    printed(alice, inputSchema=LIST)
    with working():
        answer = called(site, alice, "print_it", {"text": "a"}, Visitor(lambda: None), MODERN)
    assert answer.is_error
    assert RunRequest.objects.get().approved is None
    assert Run.objects.get().status == "waiting"


def test_an_agent_that_signs_in_itself_does_not_approve_its_own_calls(site, alice, monkeypatch):
    agent = make_agent(alice, make_builtin("calculator"), slug="robot")
    AgentTool.objects.filter(agent=agent).update(approval="ask")
    scopes = frozenset({"tools:read", "tools:run"})
    own = Bearer(user=alice, scopes=scopes, key="client:1", client_id="1", agent_id=agent.pk)
    monkeypatch.setattr(door, "bearer_of", lambda text, resource="": own)
    person = Person(YES)
    answer = called(site, alice, "calculator", {"expression": "6*7"}, person, MODERN)
    assert answer.is_error
    assert person.asked == []
    assert f"{site}/agents/robot/approvals/" in answer.content[0].text
    assert not Invocation.objects.exists()


@pytest.mark.parametrize("version", [MODERN, "2025-03-26"])
def test_a_file_that_a_tool_saved_comes_in_its_result(site, alice, version):
    workshop.make("save_file")
    answer = called(site, alice, "save_file", {"text": "Hello"}, None, version)
    file = answer.content[-1].resource
    assert (file.text, file.mime_type) == ("Hello", "text/plain")
    assert str(file.uri).endswith("/note.txt")


@pytest.mark.parametrize("version", [MODERN, "2025-06-18"])
def test_a_result_of_a_sequence_names_its_run(site, alice, version):
    from tests.agents.mcp.steps import counted_twice

    counted_twice(alice)
    with working():
        answer = called(site, alice, "count_twice", {"text": "a"}, None, version)
    assert answer.meta["outfitter/run"] == str(Run.objects.get().pk)


def test_a_page_after_an_approval_does_not_let_the_call_through_twice(site, alice, keyed):
    agent = make_agent(alice, keyed, slug="careful")
    AgentTool.objects.filter(agent=agent).update(approval="ask")
    token = token_for(alice)

    def ask(**more):
        able = {"elicitation": {"form": {}, "url": {}}}
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": able,
        }
        params = {"name": "credential", "arguments": {}, "_meta": meta, **more}
        return post(f"{site}/mcp/agents/careful", token, "tools/call", params).json()

    yes = {"inputResponses": {"answer": {"action": "accept", "content": {}}}}
    page = ask(requestState=ask()["result"]["requestState"], **yes)["result"]
    assert page["inputRequests"]["answer"]["params"]["mode"] == "url"
    credential_set(alice, name="EXA_API_KEY", value="canary-value-7")

    assert not ask(requestState=page["requestState"], **yes)["result"]["isError"]
    again = ask(requestState=page["requestState"], **yes)
    assert again["error"]["data"] == {"reason": "invalid_request_state"}
    assert Invocation.objects.filter(outcome="succeeded").count() == 1
