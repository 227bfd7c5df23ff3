"""An agent's link or a step of a sequence stays at one version of its tool."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from agents.models import AgentTool
from registry.models import Tool
from registry.services import tool_publish
from tests import factories

pytestmark = pytest.mark.django_db


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def tool(db: None) -> Tool:
    """A public tool whose second version was never approved, and whose third is live."""
    tool = factories.make_tool(wire_name="shout")
    for words in ("Second.", "Third."):
        tool.description = words
        tool_publish(tool, author=None)
    tool.unreviewed_versions = [2]
    tool.save()
    return tool


def test_the_owner_pins_a_link_and_reads_what_changed_since(tool: Tool) -> None:
    owner = factories.make_user()
    agent, client = factories.make_agent(owner, tool), client_of(owner)
    url = reverse("agents:agent_tool_pin", args=[agent.slug, tool.pk])
    page = client.get(url).content.decode()
    assert 'value="1"' in page
    assert 'value="2"' not in page

    assert client.post(url, {"version": "1"}).status_code == 302
    assert AgentTool.objects.get().pinned_version == 1
    detail = client.get(reverse("agents:agent_detail", args=[agent.slug])).content.decode()
    assert "pinned to v1, v3 is live:" in detail
    assert reverse("registry:version_diff", args=[tool.pk, 1, 3]) in detail
    assert client.post(url, {"version": ""}).status_code == 302
    assert AgentTool.objects.get().pinned_version is None


@pytest.mark.parametrize(
    ("version", "status", "message"),
    [
        ("2", 400, "Version 2 of shout was never approved."),
        ("9", 409, "shout has no version 9."),
        ("9" * 15, 400, "has no version"),
        ("x", 400, "This is not the number of a version."),
    ],
)
def test_a_pin_that_cannot_be_is_refused_in_words(
    tool: Tool, version: str, status: int, message: str
) -> None:
    owner = factories.make_user()
    agent = factories.make_agent(owner, tool)
    url = reverse("agents:agent_tool_pin", args=[agent.slug, tool.pk])
    answer = client_of(owner).post(url, {"version": version})

    assert answer.status_code == status
    assert message in answer.content.decode()
    assert AgentTool.objects.get().pinned_version is None


def test_the_api_refuses_a_version_of_anothers_tool_that_was_never_approved(tool: Tool) -> None:
    owner = factories.make_user()
    agent = factories.make_agent(owner)
    url = f"/api/v1/agents/{agent.slug}/tools/"
    body = {"toolId": str(tool.pk), "version": 2}
    answer = client_of(owner).post(url, body, content_type="application/json")

    assert (answer.status_code, answer.json()["code"]) == (400, "pin_refused")
    linked = client_of(owner).post(url, {**body, "version": 1}, content_type="application/json")
    assert linked.status_code in (200, 201), linked.content


def test_only_the_owner_of_an_agent_pins_its_tools(tool: Tool) -> None:
    agent = factories.make_agent(factories.make_user(), tool)
    url = reverse("agents:agent_tool_pin", args=[agent.slug, tool.pk])

    assert client_of(factories.make_user()).post(url, {"version": "1"}).status_code == 404


def sequence_of(tool: Tool, *versions: int | None) -> dict[str, Any]:
    return {
        "name": "Twice",
        "description": "Shout twice.",
        "type": "sequence",
        "visibility": "private",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        "definition": {
            "format": 1,
            "steps": [
                {
                    "stepNumber": number,
                    "toolToRunId": str(tool.pk),
                    "toolVersion": version,
                    "inputMapping": {"text": {"source": "initialInput", "key": "text"}},
                }
                for number, version in enumerate(versions, 1)
            ],
        },
    }


def test_each_step_may_pin_a_version_of_its_own(tool: Tool) -> None:
    client = client_of(factories.make_user())
    good = client.post(
        "/api/v1/tools/", sequence_of(tool, 1, None), content_type="application/json"
    )
    assert good.status_code == 201, good.content
    wrong = client.post(
        "/api/v1/tools/", sequence_of(tool, 1, 2, 9), content_type="application/json"
    ).json()

    told = [(item["path"], item["message"]) for item in wrong["extra"]["problems"]]
    assert [path for path, _ in told] == ["$.steps[1].toolVersion", "$.steps[2].toolVersion"]
    assert "never approved" in told[0][1]
    assert "has no version 9" in told[1][1]


def test_the_builder_offers_the_versions_and_shows_what_changed(tool: Tool) -> None:
    client = client_of(factories.make_user())
    made = client.post("/api/v1/tools/", sequence_of(tool, 1), content_type="application/json")
    url = reverse("sequences:sequence_edit", args=[made.json()["id"]])
    page = client.get(url).content.decode()

    assert '<option value="1" selected>Version 1</option>' in page
    assert '<option value="2"' not in page
    assert "Pinned to version 1, 3 is live:" in page
    assert reverse("registry:version_diff", args=[tool.pk, 1, 3]) in page
