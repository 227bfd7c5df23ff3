"""Export, import and clone agents."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from agents.approval_rules import rule_set
from agents.documents import DocumentRefused, read_document
from agents.models import Agent, AgentTool, ApprovalRule
from agents.portable import agent_clone, agent_written
from agents.services import credential_set, tool_link
from registry.models.tool import Visibility
from tests.agents.test_api import bearer
from tests.factories import make_agent, make_builtin, make_package, make_tool

pytestmark = pytest.mark.django_db
JSON = "application/json"
BARE = {"format": "outfitter-agent", "version": 1, "settings": {"name": "Helper"}}


@pytest.fixture
def full(alice) -> Agent:
    """An agent that uses all that there is to say."""
    mail = make_tool(
        package=make_package(name="@acme/mail"),
        export_name="send",
        wire_name="mail-send",
        input_schema={"type": "object", "properties": {"api_key": {}, "to": {"type": "string"}}},
    )
    agent = make_agent(
        alice,
        name="Postman",
        instructions="Be brief.",
        model="a/b",
        fallback_models=["c/d"],
        discovery_mode="filter",
        schema_budget=900,
        max_steps=3,
        max_found_tools=2,
        approval_default="ask_writes",
        tool_protocol="text",
        scopes=["mail:send"],
    )
    tool_link(agent, make_builtin().pk, name="sums", description="Sums.", approval="ask")
    tool_link(agent, mail.pk, config={"to": "x@example.org", "api_key": "s3cret"}, pinned_version=1)
    rule_set(agent, "npm:@acme/*", "deny")
    credential_set(alice, name="MAIL_KEY", value="very-secret", agent=agent)
    return agent


def test_what_is_exported_and_imported_is_equal_and_tells_no_secret(alice, full) -> None:
    client = bearer(alice)
    document = client.get(f"/api/v1/agents/{full.slug}/export/").json()
    assert "s3cret" not in json.dumps(document)
    assert "very-secret" not in json.dumps(document)

    made = client.post("/api/v1/agents/import/", document, content_type=JSON)
    assert made.status_code == 201
    assert made.json()["notes"] == [
        "mail-send: its presets api_key were not exported; set them anew."
    ]
    again = Agent.objects.get(slug=made.json()["agent"]["slug"])
    AgentTool.objects.filter(agent=full, tool__wire_name="mail-send").update(
        config={"to": "x@example.org"}
    )
    assert agent_written(again) == agent_written(full)
    assert not again.credentials.exists()


def test_a_preview_tells_what_would_be_made_and_makes_nothing(alice, full) -> None:
    document = agent_written(full).as_json()
    told = bearer(alice).post("/api/v1/agents/import/?preview=1", document, content_type=JSON)

    assert told.status_code == 200
    assert told.json()["tools"] == ["sums", "mail-send"]
    assert told.json()["rules"] == 1
    assert "agent" not in told.json()
    assert Agent.objects.count() == 1


def test_what_is_not_here_or_does_not_fit_is_told_and_the_rest_is_made(alice, bob) -> None:
    make_tool(owner=bob, visibility=Visibility.PRIVATE, package=None, wire_name="bobs", kind="api")
    make_builtin()
    builtin = {"ecosystem": "builtin", "name": "outfitter"}
    document = {
        **BARE,
        "tools": [
            {"tool": "bobs"},
            {"package": {"ecosystem": "npm", "name": "gone"}, "tool": "x"},
            {"package": builtin, "tool": "calculator", "version": 9, "config": {"n": 1}},
            {"package": builtin, "tool": "calculator", "approval": "perhaps"},
        ],
        "rules": [{"pattern": "@x", "effect": "ask"}, {"pattern": "a*", "effect": "deny"}],
    }
    made = bearer(alice).post("/api/v1/agents/import/", document, content_type=JSON).json()

    assert made["tools"] == ["calculator"]
    assert made["notes"] == [
        "bobs is not here, or you may not use it.",
        "npm:gone/x is not here, or you may not use it.",
        "calculator: version 9 is not here, so it follows the live version.",
        "calculator: its config is left out: calculator has no argument “n”; it has: expression.",
        "builtin:outfitter/calculator is left out: Choose one of rules, allow, ask, deny.",
        "The rule for “@x” is left out: There is no annotation “@x”.",
    ]
    assert ApprovalRule.objects.get().pattern == "a*"


def deep(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "An agent is a JSON object."),
        ({}, "Its “format” is not “outfitter-agent”."),
        ({**BARE, "version": 2}, "Its “version” is 2; this Outfitter reads 1."),
        ({**BARE, "settings": 7}, "$.settings: "),
        ({**BARE, "settings": {}}, "$.settings.name: Field required."),
        ({**BARE, "settings": {"name": "x", "owner": "root"}}, "$.settings.owner: "),
        ({**BARE, "tools": {"a": 1}}, "$.tools: "),
        ({**BARE, "tools": [{"tool": 7}]}, "$.tools.0.tool: "),
        ({**BARE, "tools": [{"tool": "x"}] * 201}, "$.tools: "),
        (
            {**BARE, "tools": [{"tool": "x", "config": {"a": deep(50)}}]},
            "It is nested more than 40",
        ),
    ],
)
def test_a_hostile_document_is_refused_with_what_is_wrong_where(document, message) -> None:
    with pytest.raises(DocumentRefused) as refused:
        read_document(document)
    assert refused.value.message.startswith(message)


def test_bad_settings_in_a_document_are_a_400_and_nothing_is_made(alice) -> None:
    document = {**BARE, "settings": {"name": "x", "maxSteps": 10**12}}
    answer = bearer(alice).post("/api/v1/agents/import/", document, content_type=JSON)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
    assert not Agent.objects.exists()


def test_the_page_previews_a_file_and_makes_it_when_confirmed(client_for, alice, full) -> None:
    client, url = client_for(alice), reverse("agents:agent_import")
    exported = client.get(reverse("agents:agent_export", args=[full.slug]))
    assert exported.headers["Content-Disposition"] == f'attachment; filename="{full.slug}.json"'
    file = SimpleUploadedFile("agent.json", exported.content, content_type=JSON)

    page = client.post(url, {"file": file}).content.decode()
    assert "Create agent" in page
    assert "<code>sums</code>" in page
    assert Agent.objects.count() == 1
    made = client.post(url, {"document": exported.content.decode(), "confirm": "1"})
    assert made.status_code == 302
    assert Agent.objects.count() == 2


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ({"document": ""}, "Nothing was sent."),
        ({"document": "{"}, "It is no JSON"),
        ({"document": "[" * 100_000}, "It is nested too deep."),
        ({"document": " " * 1_000_001}, "It has more than 1,000,000 signs."),
    ],
)
def test_what_cannot_be_read_is_told_on_the_page(client_for, alice, sent, message) -> None:
    answer = client_for(alice).post(reverse("agents:agent_import"), sent)
    assert answer.status_code == 400
    assert message in answer.content.decode()


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"\xff\xfe", "is no text in UTF-8"), (b" " * 1_000_001, "more than 1,000,000 bytes")],
)
def test_a_file_that_is_none_is_told_on_the_page(client_for, alice, content, message) -> None:
    file = SimpleUploadedFile("agent.json", content)
    answer = client_for(alice).post(reverse("agents:agent_import"), {"file": file})
    assert answer.status_code == 400
    assert message in answer.content.decode()


def test_a_clone_of_ones_own_agent_keeps_all_but_credentials(alice, full) -> None:
    clone = agent_clone(full, alice).agent

    assert clone.name == "Copy of Postman"
    own, copy = agent_written(full, with_secrets=True), agent_written(clone, with_secrets=True)
    assert copy.tools == own.tools
    assert copy.rules == own.rules
    assert not clone.credentials.exists()


def test_a_clone_of_a_team_mates_agent_has_what_one_may_use_and_tells_the_rest(
    client_for, alice, bob, team, full
) -> None:
    private = make_tool(owner=alice, visibility=Visibility.PRIVATE, package=None, wire_name="hers")
    tool_link(full, private.pk)
    Agent.objects.filter(pk=full.pk).update(visibility="team", team=team)

    made = bearer(bob).post(
        f"/api/v1/agents/{full.slug}/clone/", {"name": "Mine"}, content_type=JSON
    )
    assert made.status_code == 201
    assert "hers is not here, or you may not use it." in made.json()["notes"]
    clone = Agent.objects.get(slug=made.json()["agent"]["slug"])
    assert (clone.owner, clone.name, clone.visibility) == (bob, "Mine", "private")
    assert "api_key" not in clone.links.get(tool__wire_name="mail-send").config
    assert client_for(bob).post(reverse("agents:agent_clone", args=[full.slug])).status_code == 302


def test_strangers_export_and_clone_nothing(alice, charlie, full) -> None:
    for verb, path in (("get", "export"), ("post", "clone")):
        assert (
            getattr(bearer(charlie), verb)(f"/api/v1/agents/{full.slug}/{path}/").status_code == 404
        )
    refused = bearer(alice, "agents:read").post(f"/api/v1/agents/{full.slug}/clone/")
    assert refused.status_code == 403
