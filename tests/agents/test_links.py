"""What an agent says of a tool that it carries."""

import pytest
from django.test import Client
from django.urls import reverse

from agents.access import agent_context, linked_toolset
from agents.link_settings import LinkNameTaken
from agents.models import AgentTool
from agents.services import tool_link
from config.lib.errors import InvalidInput
from registry.execution import invoke
from registry.models import Invocation
from registry.models.invocation import Caller
from tests.factories import make_agent, make_builtin, make_tool

pytestmark = pytest.mark.django_db
JSON = "application/json"


def message_of(agent, tool, **settings):
    with pytest.raises(InvalidInput) as refused:
        tool_link(agent, tool.pk, **settings)
    return refused.value.message


def test_the_model_knows_the_tool_by_the_links_name_and_the_record_by_its_own(alice) -> None:
    calculator = make_builtin()
    agent = make_agent(alice)
    tool_link(agent, calculator.pk, name="sums", description="Only sums.")

    toolset = linked_toolset(agent, alice)
    assert list(toolset) == ["sums"]
    assert toolset["sums"].description == "Only sums."
    assert toolset["sums"].own_name == "calculator"
    context = agent_context(agent, alice, caller=Caller.CHAT)
    assert invoke(toolset["sums"], {"expression": "1"}, context).output
    assert Invocation.objects.get().tool == calculator
    refused = invoke(toolset["sums"], [], context).error
    assert refused.message == "The arguments of sums must be a JSON object."


def test_what_is_not_named_stays_as_it_is(alice) -> None:
    calculator = make_builtin()
    agent = make_agent(alice)
    tool_link(agent, calculator.pk, name="sums", config={"expression": "1"}, pinned_version=1)
    tool_link(agent, calculator.pk, approval="ask")

    link = AgentTool.objects.get()
    assert (link.name_override, link.pinned_version, link.approval) == ("sums", 1, "ask")
    assert link.config == {"expression": "1"}
    tool_link(agent, calculator.pk, name="calculator")
    link.refresh_from_db()
    assert link.name_override == ""


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"name": "two words"}, "A name has 1 to 64 letters, digits, “_” and “-”, and no others."),
        ({"name": "x" * 65}, "A name has 1 to 64 letters, digits, “_” and “-”, and no others."),
        (
            {"name": "search_tools"},
            "“search_tools” is what models call a part of Outfitter itself.",
        ),
        ({"approval": "maybe"}, "Choose one of rules, allow, ask, deny."),
        ({"description": "x" * 4001}, "The description has 4,001 signs; at most 4,000 are told."),
        ({"config": []}, 'Presets are a JSON object, such as {"language": "en"}.'),
        ({"config": {"sum": 1}}, "calculator has no argument “sum”; it has: expression."),
        ({"config": {"expression": 7}}, "expression: must be text, not a number."),
        (
            {"config": {"expression": "1" * 40_000}},
            "The presets have 40,018 bytes; at most 32,000 are kept.",
        ),
    ],
)
def test_a_bad_setting_is_refused_with_words_and_nothing_changes(alice, settings, message) -> None:
    calculator = make_builtin()
    agent = make_agent(alice, calculator)

    assert message_of(agent, calculator, **settings).startswith(message)
    link = AgentTool.objects.get()
    assert (link.name_override, link.config, link.approval) == ("", {}, "rules")


@pytest.mark.parametrize("own", [True, False])
def test_two_tools_of_an_agent_cannot_have_one_name_and_both_are_named(alice, own) -> None:
    first, second = make_tool(wire_name="first"), make_tool(wire_name="second")
    agent = make_agent(alice, first)
    if not own:
        tool_link(agent, first.pk, name="taken")
    name = "first" if own else "taken"

    with pytest.raises(LinkNameTaken) as refused:
        tool_link(agent, second.pk, name=name)
    assert refused.value.message == f"“{name}” cannot name second: this agent calls first by it."
    assert not AgentTool.objects.filter(tool=second).exists()


def test_the_page_saves_all_settings_and_keeps_what_was_refused(client_for, alice) -> None:
    calculator = make_builtin()
    agent = make_agent(alice, calculator)
    client, url = (
        client_for(alice),
        reverse("agents:agent_tool_pin", args=[agent.slug, calculator.pk]),
    )
    sent = {
        "approval": "ask",
        "name": "sums",
        "description": "Sums.",
        "config": "{",
        "version": "1",
    }

    refused = client.post(url, sent)
    page = refused.content.decode()
    assert refused.status_code == 400
    assert "This is no JSON" in page
    assert 'value="sums"' in page
    taken = client.post(url, {**sent, "config": "", "name": "run_code"})
    assert "is what models call a part of Outfitter itself" in taken.content.decode()

    assert client.post(url, {**sent, "config": '{"expression": "2"}'}).status_code == 302
    link = AgentTool.objects.get()
    assert (link.approval, link.name_override, link.description_override) == (
        "ask",
        "sums",
        "Sums.",
    )
    assert (link.config, link.pinned_version) == ({"expression": "2"}, 1)
    assert "Sums." in client.get(url).content.decode()


def test_the_page_is_its_owners(client_for, alice, bob, team) -> None:
    calculator = make_builtin()
    agent = make_agent(alice, calculator, visibility="team", team=team)
    url = reverse("agents:agent_tool_pin", args=[agent.slug, calculator.pk])

    assert client_for(bob).get(url).status_code == 404
    assert client_for(bob).post(url, {"approval": "allow"}).status_code == 404
    assert Client().get(url).status_code == 302


def test_rest_takes_and_tells_all_settings(client_for, alice) -> None:
    calculator = make_builtin()
    agent = make_agent(alice)
    url, client = f"/api/v1/agents/{agent.slug}/tools/", client_for(alice)
    body = {"toolId": str(calculator.pk), "approval": "ask", "name": "sums", "description": "Sums."}

    told = client.post(url, {**body, "config": {"expression": "1"}}, content_type=JSON).json()
    assert (told["name"], told["tool"], told["approval"]) == ("sums", "calculator", "ask")
    assert (told["description"], told["config"]) == ("Sums.", {"expression": "1"})
    bad = client.post(url, {**body, "config": {"x": 1}}, content_type=JSON)
    assert (bad.status_code, bad.json()["extra"]["problems"][0]["path"]) == (400, "config")
