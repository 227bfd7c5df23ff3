"""Which scopes a tool requires: who says so, what form they have, and whom it lacks."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from agents.models import Agent, AgentTool
from config.lib.errors import InvalidInput
from registry.calling import direct_context
from registry.execution import invoke
from registry.governing import governed_of, tool_govern
from registry.loading import load_spec
from registry.models import Tool
from registry.models.invocation import Caller
from registry.models.tool import Visibility
from registry.scopes import scope_problems
from sequences.definition import DefinitionInvalid
from sequences.services import sequence_update
from tests.factories import make_agent, make_builtin, make_sequence, make_tool

pytestmark = pytest.mark.django_db

JSON = "application/json"


@pytest.mark.parametrize("scope", ["mail:send", "a", "a1.b-c_d:e", "x" * 100])
def test_a_scope_of_the_right_form_is_taken(scope):
    assert scope_problems([scope]) == []


@pytest.mark.parametrize(
    "scope", ["Mail:send", "mail:", ":send", "mail::send", "a/b", "é", "", "x" * 101]
)
def test_a_scope_of_another_form_is_named_with_the_form(scope):
    (problem,) = scope_problems([scope])
    assert problem.startswith(f"“{scope[:100]}” is no scope")
    assert "such as mail:send" in problem


def test_a_tool_requires_no_more_scopes_than_can_be_overseen():
    assert scope_problems(f"s{i}" for i in range(20)) == []
    assert scope_problems(f"s{i}" for i in range(21)) == [
        "A tool may require at most 20 scopes; these are 21."
    ]


def test_a_scope_that_a_package_declares_in_another_form_stays_when_limits_change(governor):
    tool = make_tool(required_scopes=["https://mail.test/Auth"])
    wanted = governed_of(tool)._replace(calls_per_minute=3)
    assert tool_govern(tool, wanted, by=governor, reason="Dear").calls_per_minute == 3
    with pytest.raises(InvalidInput):
        tool_govern(
            tool, wanted._replace(required_scopes=["Another/One"]), by=governor, reason="No"
        )


def test_the_scopes_of_now_hold_whatever_version_is_called(alice, governor):
    tool = make_builtin("calculator")
    before = load_spec(tool)
    wanted = governed_of(tool)._replace(required_scopes=["maths:do"])
    tool_govern(tool, wanted, by=governor, reason="It is dear")

    context = direct_context(alice, caller=Caller.REST, scopes=frozenset({"other"}))
    error = invoke(before, {"expression": "1"}, context).error

    assert (error.code, error.extra["missing_scopes"]) == ("permission_refused", ["maths:do"])


# --- The owner of a made tool -------------------------------------------------------------------


def api_body(**fields):
    return {
        "type": "api",
        "name": "Weather",
        "description": "Tells the weather.",
        "definition": {"url": "https://weather.test/now"},
        "inputSchema": {"type": "object", "properties": {}},
        **fields,
    }


def test_rest_makes_and_changes_a_tool_with_scopes(client_for, alice):
    client = client_for(alice)
    made = client.post("/api/v1/tools/", api_body(requiredScopes=["web:read"]), content_type=JSON)
    assert (made.status_code, made.json()["requiredScopes"]) == (201, ["web:read"])
    address = f"/api/v1/tools/{made.json()['id']}/"

    kept = client.patch(address, {"description": "Tells it."}, content_type=JSON)
    changed = client.patch(address, {"requiredScopes": []}, content_type=JSON)
    refused = client.patch(address, {"requiredScopes": ["No!"]}, content_type=JSON)

    assert kept.json()["requiredScopes"] == ["web:read"]
    assert (changed.json()["requiredScopes"], changed.json()["version"]) == ([], 3)
    assert refused.status_code == 400
    assert refused.json()["extra"]["problems"][0]["path"] == "$.requiredScopes"


def test_rest_makes_a_sequence_with_scopes(client_for, alice):
    calculator = make_builtin("calculator")
    sequence = make_sequence(alice)
    body = {
        "name": "Sums",
        "description": "Works sums out.",
        "definition": sequence.definition,
        "inputSchema": sequence.input_schema,
        "requiredScopes": ["maths:do"],
    }
    made = client_for(alice).post("/api/v1/tools/", body, content_type=JSON)
    assert made.status_code == 201, made.content
    assert made.json()["requiredScopes"] == ["maths:do"]
    assert calculator.required_scopes == []


def changed(sequence, author, scopes):
    return sequence_update(
        sequence,
        author=author,
        name=sequence.title,
        description=sequence.description,
        definition=sequence.definition,
        input_schema=sequence.input_schema,
        visibility=sequence.visibility,
        required_scopes=scopes,
    )


def test_the_owner_of_an_approved_public_tool_may_ask_for_more_scopes_but_not_for_fewer(
    alice, governor
):
    public = {"visibility": Visibility.PUBLIC, "required_scopes": ["maths:do"]}
    sequence = make_sequence(alice, **public)

    with pytest.raises(DefinitionInvalid) as refused:
        changed(sequence, alice, [])
    (problem,) = refused.value.problems
    assert problem.message == (
        "Only a governor takes maths:do away from a tool that was approved for everyone; you may "
        "add scopes."
    )
    changed(Tool.objects.get(pk=sequence.pk), alice, ["maths:do", "maths:more"])
    own = make_sequence(governor, **public)
    assert changed(own, governor, []).required_scopes == []


def test_the_form_of_an_api_tool_takes_scopes_and_says_what_is_none(client_for, alice):
    client = client_for(alice)
    form = client.get(reverse("registry:api_tool_create")).context["form"]
    body = {name: field.value() or "" for name, field in ((n, form[n]) for n in form.fields)}
    body |= {"name": "Weather", "description": "Tells.", "url": "https://weather.test/now"}

    refused = client.post(reverse("registry:api_tool_create"), {**body, "required_scopes": "No!"})
    saved = client.post(
        reverse("registry:api_tool_create"), {**body, "required_scopes": "web:read, web:more"}
    )

    assert "“No!” is no scope" in refused.content.decode()
    assert saved.status_code == 302
    tool = Tool.objects.get(title="Weather")
    assert tool.required_scopes == ["web:more", "web:read"]
    again = client.get(reverse("registry:api_tool_edit", args=[tool.pk])).content.decode()
    assert 'value="web:more web:read"' in again


def test_the_builder_takes_scopes_and_says_what_is_none(client_for, alice):
    sequence = make_sequence(
        alice,
        required_scopes=["maths:do"],
        input_schema={
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        },
    )
    client, address = client_for(alice), reverse("sequences:sequence_edit", args=[sequence.pk])
    assert 'value="maths:do"' in client.get(address).content.decode()
    body = {
        "name": sequence.title,
        "description": sequence.description,
        "visibility": "private",
        "schema": '{"type": "object", "properties": {"text": {"type": "string"}}}',
        "steps-0-tool": "calculator",
        "steps-0-in-0-name": "expression",
        "steps-0-in-0-source": "initialInput",
        "steps-0-in-0-value": "text",
        "action": "publish",
    }
    refused = client.post(address, {**body, "scopes": "No!"})
    assert "“No!” is no scope" in refused.content.decode()
    revision = sequence.draft.revision
    saved = client.post(address, {**body, "scopes": "maths:do maths:more", "revision": revision})
    assert saved.status_code == 302, saved.content.decode()
    sequence.refresh_from_db()
    assert sequence.required_scopes == ["maths:do", "maths:more"]


# --- The agent --------------------------------------------------------------------------------


def test_the_page_of_an_agent_names_what_it_lacks_and_its_owner_grants_it(client_for, alice):
    tool = make_builtin("calculator", required_scopes=["maths:do", "maths:more"])
    agent = make_agent(alice, tool, make_tool(), scopes=["maths:do"])
    client, page = client_for(alice), reverse("agents:agent_detail", args=[agent.slug])
    assert "it lacks <code>maths:more</code>" in client.get(page).content.decode()

    done = client.post(
        reverse("agents:agent_grant", args=[agent.slug]), {"tool": str(tool.pk)}, follow=True
    )

    told = done.content.decode()
    assert "is granted maths:more." in told
    assert "it lacks" not in told
    assert Agent.objects.get(pk=agent.pk).scopes == ["maths:do", "maths:more"]


def test_nobody_else_grants_and_nothing_that_no_linked_tool_requires(client_for, alice, bob):
    tool = make_builtin("calculator", required_scopes=["maths:do"])
    agent = make_agent(alice)
    address = reverse("agents:agent_grant", args=[agent.slug])
    assert client_for(bob).post(address, {"tool": str(tool.pk)}).status_code == 404
    assert client_for(alice).post(address, {"tool": str(tool.pk)}).status_code == 404
    assert client_for(alice).post(address, {"tool": "x"}).status_code == 400
    assert Agent.objects.get(pk=agent.pk).scopes == []


def test_a_page_of_many_links_asks_no_more(client_for, alice, django_assert_max_num_queries):
    agent = make_agent(alice, *(make_tool(required_scopes=["a:b"]) for _ in range(3)))
    client, page = client_for(alice), reverse("agents:agent_detail", args=[agent.slug])
    with CaptureQueriesContext(connection) as few:
        client.get(page)
    for _ in range(5):
        AgentTool.objects.create(agent=agent, tool=make_tool(required_scopes=["a:b"]))
    with django_assert_max_num_queries(len(few)):
        client.get(page)
