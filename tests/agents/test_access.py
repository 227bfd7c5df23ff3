"""What an agent may call."""

import pytest

from agents.access import agent_context, linked_toolset
from agents.models.agent_tool import Approval
from agents.services import credential_set, tool_link
from registry.execution import invoke
from registry.loading import load_spec
from registry.models import Invocation
from registry.models.invocation import Caller
from registry.models.tool import Visibility
from tests.factories import make_agent, make_builtin, make_tool

pytestmark = pytest.mark.django_db


def test_the_toolset_holds_the_linked_tools_in_a_stable_order(alice):
    agent = make_agent(alice, make_tool(wire_name="b"), make_tool(wire_name="a"))

    assert list(linked_toolset(agent, alice)) == ["a", "b"]


def test_a_denied_tool_is_neither_offered_nor_callable(alice):
    tool = make_builtin("calculator")
    agent = make_agent(alice)
    tool_link(agent, tool.pk, approval=Approval.DENY)

    assert len(linked_toolset(agent, alice)) == 0
    context = agent_context(agent, alice, caller=Caller.CHAT)
    assert invoke(load_spec(tool), {"expression": "1"}, context).error.code == "approval_denied"


def test_a_pinned_link_offers_the_version_it_names(alice):
    from registry.services import tool_publish

    tool = make_tool(description="first")
    tool.description = "second"
    tool_publish(tool, author=alice)
    agent = make_agent(alice)
    tool_link(agent, tool.pk, pinned_version=1)

    assert linked_toolset(agent, alice)[tool.wire_name].description == "first"


def test_what_a_link_presets_is_sent_whatever_the_model_says(alice):
    tool = make_builtin("calculator")
    agent = make_agent(alice)
    tool_link(agent, tool.pk, config={"expression": "6 * 7"})

    context = agent_context(agent, alice, caller=Caller.CHAT)
    assert invoke(load_spec(tool), {"expression": "1"}, context).output["result"] == 42


def test_a_team_mate_uses_only_those_linked_tools_that_they_may_see(alice, bob, team):
    private = make_tool(owner=alice, visibility=Visibility.PRIVATE)
    public = make_tool()
    agent = make_agent(alice, private, public, visibility="team", team=team)

    assert list(linked_toolset(agent, bob)) == [public.wire_name]


def test_an_agent_without_a_scope_is_refused_a_tool_that_requires_it(alice):
    tool = make_tool(required_scopes=["mail:send"])
    context = agent_context(make_agent(alice, tool), alice, caller=Caller.CHAT)

    result = invoke(load_spec(tool), {"text": "x"}, context)
    assert result.error.code == "permission_refused"


def test_a_rest_call_as_an_agent_has_the_agents_presets_scopes_and_denials(client_for, alice):
    calculator, hashing = make_builtin("calculator"), make_builtin("hash_text")
    agent = make_agent(alice)
    tool_link(agent, calculator.pk, config={"expression": "6 * 7"})
    tool_link(agent, hashing.pk, approval=Approval.DENY)
    client = client_for(alice)

    def run(tool, **body):
        return client.post(
            f"/api/v1/tools/{tool.pk}/run/", body, content_type="application/json"
        ).json()

    told = run(calculator, arguments={"expression": "1"}, agent=agent.slug)
    assert told["output"]["result"] == 42
    assert run(hashing, arguments={"text": "x"}, agent=agent.slug)["code"] == "approval_denied"
    assert run(hashing, arguments={"text": "x"}, agent="nobody")["code"] == "not_found"
    assert Invocation.objects.filter(agent_id=agent.pk).count() == 2


def test_a_rest_search_as_an_agent_keeps_to_its_scopes(client_for, alice):
    make_tool(description="Send an e-mail to somebody.", required_scopes=["mail:send"])
    make_builtin("calculator")
    client = client_for(alice)
    url = "/api/v1/tools/search/?q=send mail to somebody"

    assert client.get(url).json()["total"] == 1
    assert client.get(f"{url}&agent={make_agent(alice).slug}").json()["total"] == 0
    granted = make_agent(alice, scopes=["mail:send"])
    assert client.get(f"{url}&agent={granted.slug}").json()["total"] == 1


def test_a_team_mates_calls_read_their_own_credentials_and_never_the_owners(alice, bob, team):
    agent = make_agent(alice, visibility="team", team=team)
    credential_set(alice, name="MAIL_KEY", value="alices-own")
    credential_set(alice, name="MAIL_KEY", value="alices-for-the-agent", agent=agent)

    as_bob = agent_context(agent, bob, caller=Caller.CHAT)
    assert not as_bob.env(["MAIL_KEY"])
    credential_set(bob, name="MAIL_KEY", value="bobs-own")
    assert as_bob.env(["MAIL_KEY"]) == {"MAIL_KEY": "bobs-own"}
