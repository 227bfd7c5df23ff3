"""Texts of listed tools: when they are made anew, and how many are kept."""

import json
from datetime import date

import pytest

from agents.access import linked_toolset
from agents.mcp import rendering
from agents.mcp.rendering import RenderedTools, tools_text
from agents.models import AgentTool
from registry.errors import ToolUnavailable
from registry.loading import load_current, load_spec
from registry.models import Package, Tool
from tests.agents.mcp.site import MODERN, post, token_for
from tests.factories import make_agent, make_package, make_tool, make_user

LEGACY = "2025-06-18"

pytestmark = pytest.mark.django_db


@pytest.fixture
def made(monkeypatch):
    """Return the names of the tools whose texts were made."""
    names: list[str] = []
    real = rendering.rendered

    def noted(tools, version):
        names.extend(tool["name"] for tool in tools)
        return real(tools, version)

    monkeypatch.setattr(rendering, "rendered", noted)
    monkeypatch.setattr(rendering, "rendered_tools", RenderedTools())
    return names


def told(tool, version=MODERN):
    (text,) = tools_text(load_current(Tool.objects.filter(pk=tool.pk)), version)
    return json.loads(text)


def test_a_text_is_made_once_for_each_revision(made):
    tool = make_tool(wire_name="weather", output_schema={"type": "array"})
    for _ in range(2):
        assert "outputSchema" in told(tool)
        assert "outputSchema" not in told(tool, LEGACY)
    assert made == ["weather", "weather"]


def test_what_is_listed_follows_each_change_of_a_tool(made):
    tool = make_tool(wire_name="weather", package=make_package(allowed_hosts=[]))
    heir = make_tool(wire_name="forecast")
    assert told(tool)["annotations"]["openWorldHint"] is False

    Package.objects.filter(pk=tool.package_id).update(allowed_hosts=["example.org"])
    assert told(tool)["annotations"]["openWorldHint"] is True
    Tool.objects.filter(pk=tool.pk).update(deprecated_on=date(2020, 1, 2), successor=heir)
    assert told(tool)["description"].endswith("since 2 Jan 2020: use forecast instead.")
    Tool.objects.filter(pk=heir.pk).update(wire_name="outlook")
    assert told(tool)["description"].endswith("use outlook instead.")
    Tool.objects.filter(pk=heir.pk).update(deleted_at="2026-01-01T00:00Z")
    assert told(tool)["description"].endswith("Deprecated since 2 Jan 2020.")
    Tool.objects.filter(pk=tool.pk).update(wire_name="skies")
    assert told(tool)["name"] == "skies"


def test_each_agent_is_told_in_its_own_words(made):
    alice, tool = make_user("alice"), make_tool(wire_name="weather", description="As it is.")
    agents = [make_agent(alice, tool, slug=slug) for slug in ("one", "two")]
    for agent in agents:
        AgentTool.objects.filter(agent=agent).update(description_override=f"For {agent.slug}.")
    texts = [tools_text([*linked_toolset(agent, alice).values()], MODERN)[0] for agent in agents]
    assert [json.loads(text)["description"] for text in texts] == ["For one.", "For two."]
    assert told(tool)["description"] == "As it is."


def test_what_was_not_used_for_longest_is_given_up(made, monkeypatch):
    tools = [make_tool(wire_name=f"tool_{letter}") for letter in "abc"]
    told(tools[0])
    one = rendering.rendered_tools.size
    monkeypatch.setattr(rendering, "MOST_KEPT", 5 * one // 2)

    for tool in (tools[1], tools[0], tools[2], tools[0], tools[1]):
        told(tool)

    assert made == ["tool_a", "tool_b", "tool_c", "tool_b"]
    assert rendering.rendered_tools.size <= 5 * one // 2


def test_a_very_long_text_is_not_kept(made, monkeypatch):
    tool = make_tool(wire_name="long")
    monkeypatch.setattr(rendering, "LARGEST_KEPT", 100)
    assert told(tool) == told(tool)
    assert made == ["long", "long"]
    assert rendering.rendered_tools.size == 0


def test_a_tool_that_a_revision_does_not_allow_is_named(made):
    spec = load_spec(make_tool(wire_name="odd", input_schema={"$schema": 5}))
    with pytest.raises(ToolUnavailable, match=f"odd cannot be listed.*MCP {LEGACY}") as caught:
        tools_text([load_spec(make_tool()), spec], LEGACY)
    assert "stop the tool" in caught.value.hint


@pytest.mark.django_db(transaction=True)
def test_an_answer_is_whole_whatever_its_id_says(site):
    make_tool(wire_name="weather")
    for id_ in ('"tools":[]', '\\"tools\\":[]', "ü"):
        answer = post(f"{site}/mcp", token_for(make_user()), "tools/list", id_=id_)
        assert int(answer.headers["content-length"]) == len(answer.content)
        assert answer.json()["id"] == id_
        assert [tool["name"] for tool in answer.json()["result"]["tools"]] == ["weather"]
